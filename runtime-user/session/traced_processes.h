// TracedProcesses: the processes of one session, as targets of one Tracing: CMD, running ones, and what they become or
// start by exec.
//
//   CMD (Started) ─ fork, exec ─► Followed: another target     has ended, nothing can hit it ─► taken away
//         └──────── exec ───────► Started: another target, CMD from now on; the one before has given way
//
// `kevtrace run` and `kevtrace mount` are the same here: they differ in what they do with the records.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime-user/engine/traced_target.h"
#include "runtime-user/session/followed_ends.h"
#include "runtime-user/session/notices.h"
#include "runtime-user/session/traced_process.h"

namespace kevt::engine {
class Tracing;
}  // namespace kevt::engine

namespace kevt::session {

class TracedProcesses {
 public:
  // Told of processes that come, before their code runs, and of those that are taken away.
  struct Listener {
    std::function<void(TracedProcess&)> added, removed;
  };

  // `names_kept`: of how many followed programs that have ended the names of functions are kept.
  TracedProcesses(inproc::SessionOptions session, std::size_t names_kept, const Notices& report)
      : session_(std::move(session)), names_kept_(names_kept), report_(report) {}
  void listen(Listener listener) { listener_ = std::move(listener); }

  // Both give an exit status when they failed, which has been reported.
  std::optional<int> start(const std::vector<std::string>& command);
  std::optional<int> attach(int pid);
  const std::vector<std::unique_ptr<TracedProcess>>& all() const { return all_; }
  std::vector<engine::TracedTarget*> targets() const;
  // Lets them run.
  void go();
  // Records hold addresses that need names, also of processes that come later.
  Result<void> keep_names();

  // Once a round: programs that were started, libraries that came, programs that are other ones now.
  void step(engine::Tracing& tracing);
  // Says which have become other programs since the last call.
  void report_replaced() const;
  // Whether anything can still hit. Where CMD was started: whether that goes on.
  bool is_any_alive() const;
  // Everything is taken out; false: reported where that failed.
  bool leave();
  // Nothing is under way any more: what was begun and not committed is lost.
  void settle();
  // What was started and not let go, ends; what was running is left as it was.
  void abandon();

  // What CMD is now.
  TracedProcess& command() const;
  // How CMD ended: wait(2) status of the last program that it has become.
  int end_of_command() const;
  std::size_t followed() const { return followed_; }
  std::size_t taken_away() const { return taken_away_; }
  std::size_t let_pass() const;  // programs that could not be held and ran untraced

 private:
  void add(HeldProgram program);
  void follow(engine::Tracing& tracing);
  void take_over(inproc::Tracee program, engine::Tracing& tracing);
  void let_go_of_ended(engine::Tracing& tracing);
  void look_at_libraries(TracedProcess& process, engine::Tracing& tracing);
  bool leave(TracedProcess& process, const inproc::SharedSessions& sessions);
  void report_detach(const TracedProcess& process, inproc::DetachResult left) const;

  const inproc::SessionOptions session_;
  const std::size_t names_kept_;
  const Notices& report_;
  Listener listener_;
  std::vector<std::unique_ptr<TracedProcess>> all_;
  std::deque<std::unique_ptr<TracedProcess>> ended_;  // for names
  FollowedEnds ends_;
  std::set<std::string> told_;  // what followed programs could not have and why, each once
  std::size_t followed_ = 0, taken_away_ = 0, let_pass_ = 0;
  bool keeps_names_ = false;
};

}  // namespace kevt::session
