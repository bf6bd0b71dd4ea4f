// RunTrace: what becomes of the records of one run, and when they are enough.
//
// They are printed as trace lines or given to a recording; limits (-d, -c, --max-bytes) are watched, progress is shown,
// and the first write that fails ends it. The same for processes and for the kernel: it is the tap of their Tracing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/run_options.h"
#include "cli/report.h"
#include "cli/run/run_output.h"
#include "cli/run/run_progress.h"
#include "runtime-user/engine/text/event_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/histogram_export.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

class RunTrace final : public engine::RecordTap {
 public:
  // `make`: who takes the records; empty: trace lines are printed, or where they have stacks a text writer takes them.
  RunTrace(const RunOptions& options, const Reporter& report, session::MakeWriter make)
      : options_(options), report_(report), make_(std::move(make)), progress_(report) {}

  // Opens the output, and takes the records of `tracing` from now on; an exit status when that failed. Only when the
  // definitions are right: a mistake must not empty the file of an earlier trace. `events`: whose records may come.
  std::optional<int> open(engine::Tracing& tracing, std::vector<const engine::TracedEvent*> events);
  // Targets that come and go.
  void add(const engine::TracedTarget& target) {
    if (recorder_) recorder_->add(target);
  }
  void remove(const engine::TracedTarget& target) {
    if (recorder_) recorder_->remove(target);
    text_->forget();
  }
  // The time of -d begins.
  void start() { started_ = interval_began_ = Clock::now(); }
  // Reads what was recorded since; prints histograms where they are wanted every so often.
  void round();
  // The last round, and the histograms behind the trace lines; the file is whole then. Nothing is recorded any more,
  // and counters are final.
  void finish();

  // A limit was reached, or nothing can be written any more.
  bool is_over() const;
  // The output could not be written, and not because its reader had seen enough.
  bool has_failed() const { return has_failed_; }
  // Shows how it goes, when it is time to.
  void show_progress();
  const std::vector<const engine::TracedEvent*>& events() const { return events_; }
  // On standard error, of each event: hits by what became of them. With -q only what is not as it should be.
  void print_accounts() const;
  runtime::EventCounts counts() const;  // of all events

  void take(const engine::TracedEvent& event, engine::TracedTarget& target, const runtime::Record& record) override;
  void take_stack(engine::TracedTarget& target, const runtime::Record& of,
                  std::span<const std::uint64_t> frames) override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Round : std::uint8_t { Running, Last };
  Result<void> open_output();
  void print_line(const engine::TracedEvent& event, const engine::TracedTarget& target, const runtime::Record& record);
  void print_account(const engine::TracedEvent& event) const;
  Result<void> choose_histogram_form();
  Result<void> open_histograms();
  bool have_own_file() const;  // the histograms
  void write_histograms(const std::string& text);
  std::string histogram_text(std::span<const std::string> texts, double from, double to) const;
  std::string histograms();
  void keep_histograms(std::span<const engine::HistSnapshot> snapshots, const std::string& text,
                       session::HistogramSpan span);
  bool is_interval_over() const;
  bool is_on_stdout() const;
  void print_histograms(const std::string& text);
  void write(Round round);
  void note_written(const Result<void>& written);

  const RunOptions& options_;
  const Reporter& report_;
  session::MakeWriter make_;
  RunProgress progress_;
  engine::Tracing* tracing_ = nullptr;
  std::vector<const engine::TracedEvent*> events_;
  std::optional<engine::EventText> text_;
  std::string line_;
  std::optional<RunOutput> output_;              // of trace lines
  std::unique_ptr<session::Recorder> recorder_;  // of anything else
  std::optional<RunOutput> histogram_output_;
  std::optional<session::HistogramExport> export_;  // nullopt: they are text
  std::uint64_t taken_ = 0;                         // records
  std::uint64_t written_ = 0;                       // bytes
  Clock::time_point started_, flushed_, interval_began_;
  bool is_last_taken_ = false;   // whether a stack that comes belongs to a record that was taken
  bool has_histograms_ = false;  // printed any
  bool is_closed_ = false;
  bool has_failed_ = false;
};

// Who writes what is asked for; empty for trace lines, which need no recorder.
session::MakeWriter writer_of(const RunOptions& options, const Reporter& report);

// 5 when something was lost or missed that --fail-on names.
std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts);

}  // namespace kevt::cli
