// A recording is brought up to date ten times a second: killed at any moment it is whole up to then. Trace lines are
// written in every round.
#include "cli/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/print.h"
#include "tracefs-compat/record/flight_recorder.h"

namespace kevt::cli {
namespace {

constexpr std::chrono::milliseconds kFlushEvery{100};

}  // namespace

std::optional<int> RunTrace::open(std::vector<RecordSource> sources, ReadLines read_lines) {
  read_lines_ = std::move(read_lines);
  std::optional<Error> failed;
  if (make_) {
    auto recorder = RunRecorder::create(std::move(sources), make_);
    if (recorder)
      recorder_ = std::move(*recorder);
    else
      failed = std::move(recorder.error());
  } else {
    auto output = RunOutput::open(options_.output);
    if (output)
      output_ = std::move(*output);
    else
      failed = std::move(output.error());
  }
  if (!failed) return std::nullopt;
  report_.error(*failed);
  return kFailed;
}

void RunTrace::take_lines(ReadRound round, std::uint64_t limit) {
  taken_ += read_lines_(round, limit, [this](std::string_view line) { output_->add_line(line); });
  if (is_closed_) return output_->drop();
  written_ += output_->waiting();
  note_written(output_->flush());
}

Result<void> RunTrace::record(ReadRound round, std::uint64_t limit) {
  if (is_closed_) return {};
  const auto read = recorder_->read(round, limit);
  if (!read) return std::unexpected(read.error());
  taken_ += *read;
  written_ = recorder_->bytes();
  if (round == ReadRound::Last || Clock::now() - flushed_ < kFlushEvery) return {};
  flushed_ = Clock::now();
  return recorder_->flush();
}

void RunTrace::take(ReadRound round) {
  const std::uint64_t limit = options_.events ? *options_.events - std::min(taken_, *options_.events) : ~0ull;
  if (recorder_)
    note_written(record(round, limit));
  else
    take_lines(round, limit);
}

void RunTrace::note_written(const Result<void>& written) {
  if (written || is_closed_) return;
  is_closed_ = true;
  has_failed_ = written.error().errno_value() != EPIPE;
  if (has_failed_)
    report_.error(written.error());
  else
    report_.status("nobody reads the trace any more; tracing stops, what was traced goes on");
}

void RunTrace::finish(const std::function<runtime::EventCounts(std::size_t)>& counts) {
  take(ReadRound::Last);
  progress_.end();
  if (!recorder_ || is_closed_) return;
  note_written(recorder_->finish(counts));
  if (is_closed_ || options_.output.empty() || options_.output == "-") return;
  report_.status(fmt::format("wrote {}: {} events, {} bytes", options_.output, taken_ - recorder_->overwritten(),
                             recorder_->bytes()));
}

bool RunTrace::is_over() const {
  if (is_closed_) return true;
  if (options_.events && taken_ >= *options_.events) return true;
  if (options_.max_bytes && !options_.overwrite && written_ >= *options_.max_bytes) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

void RunTrace::show_progress(const std::function<runtime::EventCounts()>& sum) {
  if (!progress_.is_due()) return;
  const runtime::EventCounts counts = sum();  // read seldom
  progress_.show({.events = taken_, .lost = counts.lost, .missed = counts.missed, .bytes = written_});
}

void RunTrace::print_overwritten(std::size_t event) const {
  const std::uint64_t count = recorder_ ? recorder_->overwritten(event) : 0;
  if (count) print_to(stderr, "{}: {} of the recorded were overwritten by newer ones\n", recorder_->name(event), count);
}

MakeWriter writer_of(const RunOptions& options, const Reporter& report) {
  const record::FileFormat format = output_format(options.format, options.output, report);
  if (options.overwrite)
    return [format, options](const record::Metadata& metadata) {
      const std::uint64_t kept = options.max_bytes ? *options.max_bytes / std::max(metadata.cpus, 1u)
                                                   : options.buffer_kb.value_or(kDefaultBufferKb) * 1024;
      return record::create_flight_recording(format, options.output, metadata, kept);
    };
  if (format == record::FileFormat::Text && !options.stack) return {};
  return [format, output = options.output](const record::Metadata& metadata) {
    return record::create_recording(format, output, metadata);
  };
}

std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts) {
  for (const std::string& what : options.fail_on)
    if ((what == "lost" && counts.lost) || (what == "missed" && counts.missed)) return kDataLost;
  return std::nullopt;
}

}  // namespace kevt::cli
