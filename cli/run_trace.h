// RunTrace: what becomes of the records of one run, and when they are enough.
//
// They are printed as trace lines or given to a recording; limits (-d, -c, --max-bytes) are watched, progress is shown,
// and the first write that fails ends it. The same for a process and for the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/run_output.h"
#include "cli/run_progress.h"
#include "cli/run_recorder.h"

namespace kevt::cli {

class RunTrace {
 public:
  // Hands out at most `limit` trace lines; how many. What waits is handed out in the last round.
  using ReadLines = std::function<std::uint64_t(ReadRound round, std::uint64_t limit, const LineSink& sink)>;

  // `make`: who takes the records; empty: trace lines are printed.
  RunTrace(const RunOptions& options, const Reporter& report, MakeWriter make)
      : options_(options), report_(report), make_(std::move(make)), progress_(report) {}

  // Opens the output; an exit status when that failed. Only when the definitions are right: a mistake must not empty
  // the file of an earlier trace.
  std::optional<int> open(std::vector<RecordSource> sources, ReadLines read_lines);
  // Another process, with the events of the others.
  void add(const RecordSource& source) {
    if (recorder_) recorder_->add(source);
  }
  // Whether records of a process wait to be written; nothing comes from it any more.
  bool awaits(const engine::Engine& source) const { return recorder_ && recorder_->awaits(source); }
  void remove(const engine::Engine& source) {
    if (recorder_) recorder_->remove(source);
  }
  // The time of -d begins.
  void start() { started_ = Clock::now(); }
  // Reads what was recorded since.
  void take(ReadRound round);
  // The last round; the file is whole then. `counts`: of an event, an index; they are final after the round.
  void finish(const std::function<runtime::EventCounts(std::size_t)>& counts);

  // A limit was reached, or nothing can be written any more.
  bool is_over() const;
  // The output could not be written, and not because its reader had seen enough.
  bool has_failed() const { return has_failed_; }
  // Shows how it goes, when it is time to; `sum` reads counters of all events.
  void show_progress(const std::function<runtime::EventCounts()>& sum);
  // On standard error, where records of the event had to go for newer ones; `event`: an index.
  void print_overwritten(std::size_t event) const;

 private:
  using Clock = std::chrono::steady_clock;
  void take_lines(ReadRound round, std::uint64_t limit);
  Result<void> record(ReadRound round, std::uint64_t limit);
  void note_written(const Result<void>& written);

  const RunOptions& options_;
  const Reporter& report_;
  MakeWriter make_;
  ReadLines read_lines_;
  RunProgress progress_;
  std::optional<RunOutput> output_;        // of trace lines
  std::unique_ptr<RunRecorder> recorder_;  // of anything else
  std::uint64_t taken_ = 0;                // records
  std::uint64_t written_ = 0;              // bytes
  Clock::time_point started_, flushed_;
  bool is_closed_ = false;
  bool has_failed_ = false;
};

// Who writes what is asked for; empty for trace lines, which need no recorder.
MakeWriter writer_of(const RunOptions& options, const Reporter& report);

// 5 when something was lost or missed that --fail-on names.
std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts);

}  // namespace kevt::cli
