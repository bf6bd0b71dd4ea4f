// TracedProcesses: the processes of one `kevtrace run`, each with an engine of its own, read as one trace.
//
// Every definition is compiled for each process, since its functions lie elsewhere in each; ids and names are the same
// in all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/followed_ends.h"
#include "cli/launch.h"
#include "cli/report.h"
#include "cli/run_output.h"
#include "cli/run_recorder.h"
#include "common/time_merger.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/trace_printer.h"

namespace kevt::cli {

struct TracedProcess {
  explicit TracedProcess(HeldProgram program)
      : held(std::move(program)),
        engine(*held.runtime, *held.env, engine::Missing::Waits),
        printer(engine, *held.env) {}

  inproc::InprocRuntime& runtime() const { return *held.runtime; }
  pid_t pid() const { return held.runtime->pid(); }

  HeldProgram held;
  engine::Engine engine;
  engine::TracePrinter printer;
  std::optional<target::StackUnwinder> unwinder;  // when stacks are recorded
  std::string name;                               // of the program, when it was found
  bool names_addresses = false;                   // records hold addresses that need names: its files are kept
  bool is_reported = false;                       // that it ended or became another program
  bool is_over = false;                           // nothing can hit in it any more: let_go_of_ended() takes it away
};

class TracedProcesses {
 public:
  explicit TracedProcesses(const Reporter& report) : report_(report) {}

  void add(HeldProgram program);
  const std::vector<std::unique_ptr<TracedProcess>>& all() const { return all_; }

  // Code that compiled scripts bring, for all processes; kept by the caller.
  void set_code(const pipeline::CodeStore* brought) { brought_ = brought; }
  // Before define(): hits that make their function return; what is wrong is reported and left out (one process only).
  void inject(std::vector<engine::EventInjection> injections) { injections_ = std::move(injections); }
  void keep_going() { together_ = engine::Together::EachByItself; }
  // Defines in every process, then arms in every process. An exit status when something is wrong; it has been
  // reported, with the process where there are several.
  std::optional<int> define(std::span<const Source> definitions, const Filters& filters);

  // Appends trace lines to `out`, at most `limit`; returns how many. what waits is handed out in the last round.
  std::uint64_t read(ReadRound round, std::uint64_t limit, const LineSink& sink);
  // Records are to have stacks: before define(), which samples them in every definition.
  void sample_stacks() { samples_stacks_ = true; }
  // The same as records, one source a process.
  std::vector<RecordSource> sources();

  // Arms what has waited for a library that a process has just loaded, before any of its code runs. `take` reads what
  // was recorded before.
  void look_at_libraries(const std::function<void()>& take);
  // Programs that the processes have become by exec, or what they have forked, are traced from their first instruction
  // on, each as a process of its own. What fails there is reported and takes nothing else down. `added` gets each.
  void follow(const inproc::SessionOptions& session, const std::function<void(const RecordSource&)>& added);
  // Followed programs that have ended, and whose children have, are taken away: a run may follow any number. `take`
  // reads what was recorded; `awaits` tells whether records of one wait to be written; `removed` gets each.
  void let_go_of_ended(const std::function<void()>& take, const std::function<bool(const engine::Engine&)>& awaits,
                       const std::function<void(const engine::Engine&)>& removed);
  std::size_t followed() const { return followed_; }
  std::size_t let_pass() const;  // programs that could not be held and ran untraced
  // Notices and reports ends. Whether any process can still hit; where CMD was started, whether that goes on.
  bool is_any_alive();
  // Takes everything out of the processes; false: reported where that failed.
  bool detach();
  void settle();
  // What was started and not let go, ends; what was running is left as it was.
  void abandon();

  // Over all processes; `event` is an index into the events of any of them.
  runtime::EventCounts counts(std::size_t event) const;
  runtime::EventCounts counts() const;  // of all events
  // How CMD ended: wait(2) status of the last program that it has become.
  int end_of_command() const;
  std::vector<std::string> how_armed() const;  // one text per process
  const std::deque<engine::Event>& events() const { return all_.front()->engine.events(); }

 private:
  void take_over(inproc::Tracee program, const inproc::SessionOptions& session,
                 const std::function<void(const RecordSource&)>& added);
  Result<void> arm_followed(TracedProcess& process);
  RecordSource source_of(TracedProcess& process) const;
  Result<void> keep_names(TracedProcess& process) const;
  bool merges_ = false;  // there is more than one process, or was
  std::uint64_t read_only_one(std::uint64_t limit, const LineSink& sink);
  std::string where(const TracedProcess& process) const;
  Result<void> arm_arrived(TracedProcess& process);
  void report_waiting();
  void fold(const TracedProcess& process);
  void report_gone(const TracedProcess& process) const;
  void report_leftover(const TracedProcess& process, inproc::Leftover left) const;

  const Reporter& report_;
  const pipeline::CodeStore* brought_ = nullptr;
  pipeline::CodeStore kept_;  // what is compiled for one process is there for the next
  std::vector<std::unique_ptr<TracedProcess>> all_;
  TimeMerger<std::string> lines_;
  std::set<std::string> told_;  // problems of followed programs, each once
  std::size_t followed_ = 0;
  // Of processes that were taken away.
  std::vector<runtime::EventCounts> counts_gone_;  // by event
  std::map<std::string, std::size_t> waited_;      // definitions whose library never came, and in how many processes
  std::size_t gone_ = 0, let_pass_ = 0;
  FollowedEnds ends_;
  unsigned looks_ = 0;
  bool samples_stacks_ = false;
  std::vector<engine::EventInjection> injections_;
  engine::Together together_ = engine::Together::AllOrNothing;
};

}  // namespace kevt::cli
