// TracedProcesses: the processes of one `kevtrace run`, each with an engine of its own, read as one trace.
//
// Every definition is compiled for each process, since its functions lie elsewhere in each; ids and names are the same
// in all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch.h"
#include "cli/report.h"
#include "cli/run_recorder.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/merged_lines.h"
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
  std::string name;          // of the program, when it was found
  bool is_reported = false;  // that it ended or became another program
};

class TracedProcesses {
 public:
  explicit TracedProcesses(const Reporter& report) : report_(report) {}

  void add(HeldProgram program);
  const std::vector<std::unique_ptr<TracedProcess>>& all() const { return all_; }

  // Code that was made earlier, for all processes; kept by the caller.
  void set_code(const pipeline::CodeStore* made) { made_ = made; }
  // Defines in every process, then arms in every process. An exit status when something is wrong; it has been
  // reported, with the process where there are several.
  std::optional<int> define(std::span<const Source> definitions, const Filters& filters);

  // Appends trace lines to `out`, at most `limit`; returns how many. what waits is handed out in the last round.
  std::uint64_t read(ReadRound round, std::uint64_t limit, std::string& out);
  // The same as records, one source a process.
  std::vector<RecordSource> sources() const;

  // Arms what has waited for a library that a process has just loaded, before any of its code runs.
  void look_at_libraries();
  // Notices and reports ends. Whether any process can still hit.
  bool is_any_alive();
  // Takes everything out of the processes; false: reported where that failed.
  bool detach();
  void settle();
  // What was started and not let go, ends; what was running is left as it was.
  void abandon();

  // Over all processes; `event` is an index into the events of any of them.
  runtime::EventCounts counts(std::size_t event) const;
  std::vector<std::string> how_armed() const;  // one text per process
  const std::deque<engine::Event>& events() const { return all_.front()->engine.events(); }

 private:
  std::uint64_t read_only_one(std::uint64_t limit, std::string& out);
  std::string where(const TracedProcess& process) const;
  Result<void> arm_arrived(TracedProcess& process);
  void report_waiting(const TracedProcess& process) const;
  void report_gone(const TracedProcess& process) const;
  void report_leftover(const TracedProcess& process, inproc::Leftover left) const;

  const Reporter& report_;
  const pipeline::CodeStore* made_ = nullptr;
  std::vector<std::unique_ptr<TracedProcess>> all_;
  engine::MergedLines lines_;
  unsigned looks_ = 0;
};

}  // namespace kevt::cli
