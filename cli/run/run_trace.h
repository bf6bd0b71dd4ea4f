// RunTrace: what becomes of the records of one run, and when they are enough.
//
// They are printed as trace lines or given to recordings, those of each instance to its own output; limits (-d, -c,
// --max-bytes) are watched, progress is shown, and the first write that fails ends it. The same for processes and for
// the kernel: it is the tap of their Tracing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/run_options.h"
#include "cli/reporter.h"
#include "cli/run/instance_output.h"
#include "cli/run/run_histograms.h"
#include "cli/run/run_output.h"
#include "cli/run/run_progress.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

class RunTrace final : public engine::RecordTap {
 public:
  // `make`: who takes the records of the top instance; empty: what the options say.
  RunTrace(const RunOptions& options, const Reporter& report, session::MakeWriter make)
      : options_(options), report_(report), make_(std::move(make)), progress_(report), histograms_(options, report) {}

  // Opens the outputs, and takes the records of `tracing` from now on; an exit status when that failed. Only when the
  // definitions are right: a mistake must not empty the file of an earlier trace. `instances`: the top one first.
  std::optional<int> open(engine::Tracing& tracing, std::vector<RunInstance> instances);
  // Targets that come and go.
  void add(const engine::TracedTarget& target) {
    for (InstanceOutput& one : outputs_) one.add(target);
  }
  void remove(const engine::TracedTarget& target) {
    for (InstanceOutput& one : outputs_) one.remove(target);
  }
  // The time of -d begins.
  void start() { started_ = interval_began_ = Clock::now(); }
  // Reads what was recorded since; prints histograms where they are wanted every so often.
  void round();
  // The last round, and the histograms behind the trace lines; the files are whole then. Nothing is recorded any more,
  // and counters are final.
  void finish();

  // A limit was reached, or nothing can be written any more.
  bool is_over() const;
  // An output could not be written, and not because its reader had seen enough.
  bool has_failed() const { return has_failed_ || histograms_.has_failed(); }
  // Shows how it goes, when it is time to.
  void show_progress();
  // That some instance tells of, each once, in the order of their ids.
  std::vector<const engine::TracedEvent*> events() const;
  // On standard error, of each event in each instance: hits by what became of them. With -q only what is not as it
  // should be.
  void print_accounts() const;
  // As the instance counts it that has seen it most often.
  runtime::EventCounts counts_of(const engine::TracedEvent& event) const;
  // Of all events: as the first instance that tells of an event counts it, with what others have lost of it.
  runtime::EventCounts counts() const;

  void take(const engine::Instance& instance, const engine::TracedEvent& event, engine::TracedTarget& target,
            const runtime::Record& record) override;
  void take_stack(const engine::Instance& instance, engine::TracedTarget& target, const runtime::Record& of,
                  std::span<const std::uint64_t> frames) override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Round : std::uint8_t { Running, Last };
  Result<void> check_outputs() const;
  std::string why_own_file(const InstanceOutput& output) const;
  Result<void> open_output(InstanceOutput& output);
  InstanceOutput& output_of(const engine::Instance& instance);
  std::uint64_t taken() const;
  session::HistogramSpan next_span();
  void print_account(const InstanceOutput& output, const engine::TracedEvent& event) const;
  bool is_interval_over() const;
  void write(Round round);
  void note_written(InstanceOutput& output, const Result<void>& written);

  const RunOptions& options_;
  const Reporter& report_;
  session::MakeWriter make_;
  RunProgress progress_;
  RunHistograms histograms_;
  engine::Tracing* tracing_ = nullptr;
  std::vector<InstanceOutput> outputs_;  // the top instance's first
  std::size_t longest_name_ = 0;         // of those whose lines stand between the top one's
  std::uint64_t written_ = 0;            // bytes
  Clock::time_point started_, flushed_, interval_began_;
  InstanceOutput* last_taken_ = nullptr;  // whose record was taken last; nullptr: it was not, nor is its stack
  bool is_any_closed_ = false;
  bool has_failed_ = false;
};

// Who writes what is asked for; empty for trace lines, which need no recorder.
session::MakeWriter writer_of(const RunOptions& options, const std::string& output, const Reporter& report);

// 5 when something was lost or missed that --fail-on names.
std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts);

}  // namespace kevt::cli
