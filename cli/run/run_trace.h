// RunTrace: outputs the records of one run, and says when to stop.
//
// The records of each instance go to its own output, as trace lines or into a recording. RunTrace also watches the
// limits (-d, -c, --max-bytes) and shows progress; the first write that fails ends the run. It is the tap of the run's
// Tracing, for processes and for the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/run_options.h"
#include "cli/reporter.h"
#include "cli/run/instance_output.h"
#include "cli/run/run_histograms.h"
#include "cli/run/run_output.h"
#include "cli/run/run_progress.h"
#include "cli/run/written_counts.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/keeper.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

class RunTrace final : public engine::RecordTap {
 public:
  // `make`: makes the writer of the top instance's records; empty: as the options say.
  RunTrace(const RunOptions& options, const Reporter& report, session::MakeWriter make)
      : options_(options),
        report_(report),
        make_(std::move(make)),
        is_question_(bool(make_)),
        progress_(report),
        histograms_(options, report) {}

  // Opens the outputs and takes the records of `tracing` from now on. Returns an exit status if that failed. Call it
  // only once the definitions have been accepted: a mistake must not empty the file of an earlier trace. `instances`:
  // the top one first.
  std::optional<int> open(engine::Tracing& tracing, std::vector<RunInstance> instances);
  // Lets hits count what a question asks for, instead of being recorded, where they can. To be called behind open(),
  // before start().
  void count_instead();
  // Tell of targets that were added or are removed.
  void add(const engine::TracedTarget& target) {
    for (InstanceOutput& one : outputs_) one.add(target);
  }
  void remove(const engine::TracedTarget& target) {
    for (InstanceOutput& one : outputs_) one.remove(target);
  }
  // Starts the time of -d.
  void start() { started_ = interval_began_ = Clock::now(); }
  // Gives the output what hits have counted so far. To be called while the names of their addresses are known.
  void take_counts();
  // A process maps or unmaps files, or a JIT compiler has made code: addresses may have other names.
  void files_change();
  // Drains records and writes them; prints histograms when an interval of --interval is over. `keeper` is made anew
  // when it does not know enough any more.
  void round(session::Keeper& keeper);
  // `always`: it is made anew.
  void look_at(session::Keeper& keeper, bool always = false);
  // In the keeper, before finish(): takes over from the process that has died, and reads on. A recording goes on in a
  // file of its own, FILE.rest.EXTENSION. What the other process had taken out of the rings and not written is lost,
  // and counted so.
  void take_over();
  void go_on();
  // The last round: writes the remaining records and the histograms, and completes the files. To be called when nothing
  // is recorded any more and counters are final.
  void finish();

  // Whether a limit was reached or an output cannot be written any more.
  bool is_over() const;
  // Whether an output could not be written for another reason than a reader that has left (EPIPE).
  bool has_failed() const { return has_failed_ || histograms_.has_failed(); }
  // Shows the progress when it is time to.
  void show_progress();
  // All events of all instances, without repetitions, sorted by id.
  std::vector<const engine::TracedEvent*> events() const;
  // Events that were never hit are only counted in what is printed: globs make many of them.
  void count_what_was_never_hit() { says_never_hit_ = false; }
  bool is_left_unsaid(const runtime::EventCounts& counts) const;
  // Prints to standard error, for each event in each instance, what became of its hits. With -q only events with lost
  // or missed hits or faults.
  void print_accounts() const;
  // The event's counts in the instance where it has the most hits.
  runtime::EventCounts counts_of(const engine::TracedEvent& event) const;
  // The sum over all events: each event's counts in the first instance that has it, plus its losses in the others.
  runtime::EventCounts counts() const;

  bool take(const engine::Instance& instance, const engine::TracedEvent& event, engine::TracedTarget& target,
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
  void write(Round round);
  bool is_interval_over() const;
  void end_interval();
  void print_interval();
  enum class Which : std::uint8_t { Lines, All };
  void flush(Which which);
  bool is_in_memory(const InstanceOutput& output) const;
  void go_on_beside(std::size_t output);
  void count_what_was_written();
  void count_what_files_have();
  void finish_as_it_is(InstanceOutput& output);
  void note_written(InstanceOutput& output, const Result<void>& written);

  const RunOptions& options_;
  const Reporter& report_;
  session::MakeWriter make_;
  const bool is_question_ = false;  // the writer answers one, and what it has counted is in this process alone
  RunProgress progress_;
  RunHistograms histograms_;
  engine::Tracing* tracing_ = nullptr;
  std::vector<InstanceOutput> outputs_;  // the top instance's first
  std::size_t longest_name_ = 0;         // of instances whose lines are printed among the top one's
  std::uint64_t written_ = 0;            // bytes
  Clock::time_point started_, flushed_, interval_began_;
  InstanceOutput* last_taken_ = nullptr;  // output of the last record; nullptr: that record was not taken
  bool says_never_hit_ = true;
  bool is_any_closed_ = false;
  std::set<std::uint32_t> counted_;  // by count_instead(): events whose hits triggers count
  bool has_failed_ = false;
  std::vector<std::string> interval_texts_;  // of each output, to be printed
  std::uint64_t intervals_ = 0;
  WrittenCounts written_counts_{outputs_};
  std::uint64_t taken_before_ = 0;  // by the process that has died, of which this one is a copy
  bool goes_on_ = false;
  std::vector<std::pair<std::size_t, std::string>> left_files_;  // of outputs that go on in others
};

// Makes the writer for the format that is asked for; empty for trace lines, which need no recorder.
session::MakeWriter writer_of(const RunOptions& options, const std::string& output, const Reporter& report);

// kDataLost (5) if records were lost or hits missed and --fail-on names that.
std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts);

}  // namespace kevt::cli
