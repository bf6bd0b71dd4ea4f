// TracedProcesses: the processes of one session, as targets of one Tracing: CMD, attached processes, and the programs
// that these become or start by exec.
//
//   CMD (Started) ─ fork, exec ─► Followed: another target     has ended, nothing can hit it ─► taken away
//         └──────── exec ───────► Started: another target, CMD from now on; the one before has given way
//
// `kevtrace run` and `kevtrace mount` are the same here: they differ in what they do with the records.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/process_choice.h"
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
  // `added`: a followed program was added, and its code has not run yet; `removed`: one was removed;
  // `files_change`: a process maps or unmaps files, and what is known of them is about to be read again.
  struct Listener {
    std::function<void(TracedProcess&)> added, removed, files_change = {};
  };

  // `names_kept`: for how many ended programs, the last ones, function names are kept.
  TracedProcesses(inproc::SessionOptions session, std::size_t names_kept, const Notices& report)
      : session_(std::move(session)), names_kept_(names_kept), report_(report) {}
  void listen(Listener listener) { listener_ = std::move(listener); }
  // To be called before start() and attach(): the kernel is traced in the same session.
  void share_with_kernel(std::shared_ptr<const target::PlaceSides> sides) { sides_ = std::move(sides); }

  // start() and attach() return an exit status if they failed; the reason has been reported.
  std::optional<int> start(const std::vector<std::string>& command);
  std::optional<int> attach(int pid);
  const std::vector<std::unique_ptr<TracedProcess>>& all() const { return all_; }
  std::vector<engine::TracedTarget*> targets() const;
  // Lets all held processes run.
  void go();
  // To be called when records will hold addresses to be named; covers processes that are added later, too.
  Result<void> keep_names();

  // Once a round: takes over programs that were started by exec, arms probes in loaded libraries, reports processes
  // that became other programs.
  void step(engine::Tracing& tracing);
  // Reports processes that have become other programs since the last call.
  void report_replaced() const;
  // From now on step() also attaches to processes that fit and have come since, and tracing goes on without any.
  void watch_for(proc::ProcessChoice choice) { choice_ = std::move(choice); }
  // Whether tracing goes on. With CMD: whether CMD, or what it has become by exec, has not ended. With attached
  // processes: whether one of them, or of the programs followed from them, lives.
  bool is_any_alive() const;
  // Removes everything from the processes. False: that failed somewhere, and has been reported.
  bool leave();
  // To be called when nothing hits any more: counts unfinished records as lost.
  void settle();
  // Kills a CMD that was not let go, and detaches from processes that ran already.
  void abandon();

  // The process that CMD is now, after any exec.
  TracedProcess& command() const;
  // The wait(2) status of CMD, which may have become another program by exec.
  int end_of_command() const;
  std::size_t followed() const { return followed_; }
  std::size_t taken_away() const { return taken_away_; }
  // Tells of programs that came by exec and ran untraced, and why.
  void report_untraced() const;

 private:
  void add(HeldProgram program);
  void follow(engine::Tracing& tracing);
  void look_for_chosen(engine::Tracing& tracing);
  void join(HeldProgram held, engine::Tracing& tracing);
  void take_over(inproc::Tracee program, engine::Tracing& tracing);
  void let_go_of_ended(engine::Tracing& tracing);
  void look_at_libraries(TracedProcess& process, engine::Tracing& tracing);
  void look_at_jit(TracedProcess& process, engine::Tracing& tracing);
  bool leave(TracedProcess& process, const inproc::SharedSessions& sessions);
  void report_detach(const TracedProcess& process, inproc::DetachResult left) const;

  const inproc::SessionOptions session_;
  const std::size_t names_kept_;
  const Notices& report_;
  std::shared_ptr<const target::PlaceSides> sides_;
  Listener listener_;
  std::vector<std::unique_ptr<TracedProcess>> all_;
  std::deque<std::unique_ptr<TracedProcess>> ended_;  // for names
  FollowedEnds ends_;
  proc::ProcessChoice choice_;
  std::set<std::pair<int, std::uint64_t>> known_;  // processes that were looked at: pid, and when they began
  std::chrono::steady_clock::time_point looked_;   // for chosen ones
  std::set<std::string> told_;                     // refusals in followed programs that were reported, each once
  std::size_t followed_ = 0, taken_away_ = 0;
  inproc::ExecFollower::Untraced untraced_;
  bool keeps_names_ = false;
};

}  // namespace kevt::session
