// A recording is brought up to date ten times a second: killed at any moment it is whole up to then. Trace lines are
// written in every round.
#include "cli/run/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "common/print.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/records/accounting.h"
#include "runtime-user/engine/tracing.h"
#include "tracefs-compat/record/dat/flight_recorder.h"

namespace kevt::cli {
namespace {

constexpr std::chrono::milliseconds kFlushEvery{100};

}  // namespace

std::optional<int> RunTrace::open(engine::Tracing& tracing, std::vector<const engine::TracedEvent*> events) {
  tracing_ = &tracing;
  events_ = std::move(events);
  text_.emplace(tracing.code().static_events());
  auto opened = choose_histogram_form();
  if (opened) opened = open_output();
  if (opened) opened = open_histograms();
  if (!opened) {
    report_.error(opened.error());
    return kFailed;
  }
  // With a limit the first records are meant, not those of the first CPU; triggers act in the order of the hits.
  const bool any_order =
      recorder_ && recorder_->takes_any_order() && !options_.events && tracing.top().triggers.events().empty();
  tracing.records().set_tap(*this, any_order ? engine::DrainOrder::ByCpu : engine::DrainOrder::ByTime);
  return std::nullopt;
}

// Lines have no room for stacks: the recorder's writer of text prints them.
Result<void> RunTrace::open_output() {
  if (!make_ && tracing_->top().records_stacks())
    make_ = [output = options_.output](const record::Metadata& metadata) {
      return record::create_recording(record::FileFormat::Text, output, metadata);
    };
  if (!make_) {
    auto output = RunOutput::open(options_.output);
    if (!output) return std::unexpected(std::move(output.error()));
    output_ = std::move(*output);
    return {};
  }
  auto recorder = session::Recorder::create(*tracing_, events_, make_);
  if (!recorder) return std::unexpected(std::move(recorder.error()));
  recorder_ = std::move(*recorder);
  return {};
}

// What cannot be is refused before any file is opened.
Result<void> RunTrace::choose_histogram_form() {
  const std::string& format = options_.histogram_format;
  const auto form = format.empty() ? session::histogram_form_of_file(options_.histogram_output)
                                   : session::histogram_form(format).value();
  if (form == session::HistogramForm::OpenMetrics && options_.interval)
    return std::unexpected(Error("openmetrics is one exposition of the whole run: leave --interval out", EINVAL));
  if (have_own_file() && options_.histogram_output == options_.output)
    return std::unexpected(Error("--hist-output and -o name the same file", EINVAL));
  if (form != session::HistogramForm::Text) export_.emplace(form);
  return {};
}

Result<void> RunTrace::open_histograms() {
  if (!have_own_file()) return {};
  auto output = RunOutput::open(options_.histogram_output);
  if (!output) return std::unexpected(std::move(output.error()));
  histogram_output_ = std::move(*output);
  return {};
}

// ---- records --------------------------------------------------------------------------------

void RunTrace::take(const engine::TracedEvent& event, engine::TracedTarget& target, const runtime::Record& record) {
  is_last_taken_ = !is_closed_ && taken_ < options_.events.value_or(~0ull);
  if (!is_last_taken_) return;
  ++taken_;
  if (recorder_)
    note_written(recorder_->give(event, target, record));
  else
    print_line(event, target, record);
}

void RunTrace::take_stack(engine::TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames) {
  if (recorder_ && is_last_taken_ && !is_closed_) note_written(recorder_->give_stack(target, of, frames));
}

void RunTrace::print_line(const engine::TracedEvent& event, const engine::TracedTarget& target,
                          const runtime::Record& record) {
  if (record.bytes.size() < model::kCommonBytes) return;
  line_.clear();
  layout::LineContext context;
  context.comm = record.comm;
  context.pid = model::pid_of(record.bytes);
  context.cpu = record.cpu;
  context.timestamp_ns = record.timestamp_ns;
  context.flags = record.bytes[2];
  context.preempt_count = record.bytes[3];
  layout::append_line_prefix(line_, context);
  text_->append(event, record.bytes, text_->symbols(&target.known_env()), {}, line_);
  output_->add_line(line_);
}

void RunTrace::write(Round round) {
  if (is_closed_) {
    if (output_) output_->drop();
    return;
  }
  if (output_) {
    written_ += output_->waiting();
    return note_written(output_->flush());
  }
  written_ = recorder_->bytes();
  if (round == Round::Last || Clock::now() - flushed_ < kFlushEvery) return;
  flushed_ = Clock::now();
  note_written(recorder_->flush());
}

void RunTrace::round() {
  tracing_->drain();
  if (is_interval_over()) print_histograms(histograms());
  write(Round::Running);
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

void RunTrace::finish() {
  tracing_->records().finish();
  tracing_->drain();
  const std::string counted = histograms();
  if (!recorder_) print_histograms(counted);
  write(Round::Last);
  progress_.end();
  if (!recorder_) return;
  if (!is_closed_) note_written(recorder_->finish());
  print_histograms(counted);
  if (const std::size_t left_out = recorder_->histograms_left_out())
    report_.status(fmt::format("the recording has the newest histograms alone: {} readings had no room", left_out));
  if (is_closed_ || is_on_stdout()) return;
  report_.status(fmt::format("wrote {}: {} events, {} bytes", options_.output, taken_ - recorder_->overwritten(),
                             recorder_->bytes()));
}

// As the file `hist` of a mount, under the event's name, and where they come every so often under the time they are of.
std::string RunTrace::histogram_text(std::span<const std::string> texts, double from, double to) const {
  std::string text, span;
  if (options_.interval) span = fmt::format(", {:.3f} s to {:.3f} s", from, to);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].empty())
      text +=
          fmt::format("{}# {}:{}{}\n{}", text.empty() ? "" : "\n", events_[i]->group, events_[i]->name, span, texts[i]);
  return text;
}

// Of each event that has any, since they were last asked for; a recording keeps them, too.
std::string RunTrace::histograms() {
  using Forms = engine::TriggerFiles::HistForms;
  const auto since_start = [this](Clock::time_point at) {
    return std::chrono::duration<double>(at - started_).count();
  };
  const Clock::time_point now = Clock::now();
  const double from = since_start(std::exchange(interval_began_, now)), to = since_start(now);
  const auto reading = tracing_->triggers().take_histograms(tracing_->top(), events_,
                                                            recorder_ ? Forms::Both
                                                            : export_ ? Forms::Snapshots
                                                                      : Forms::Texts);
  const std::string text = histogram_text(reading.texts, from, to);
  if (recorder_ && !text.empty()) keep_histograms(reading.snapshots, text, {from, to});
  if (export_) return export_->text(reading.snapshots, {from, to});
  return text.empty() || !std::exchange(has_histograms_, true) ? text : "\n" + text;
}

void RunTrace::keep_histograms(std::span<const engine::HistSnapshot> snapshots, const std::string& text,
                               session::HistogramSpan span) {
  record::HistogramReading kept{.objects = {}, .text = text};
  const std::string objects = session::HistogramExport(session::HistogramForm::Json).text(snapshots, span);
  for (std::size_t at = 0; at < objects.size();) {
    const std::size_t end = std::min(objects.find('\n', at), objects.size());
    kept.objects.push_back(objects.substr(at, end - at));
    at = end + 1;
  }
  recorder_->add_histograms(std::move(kept));
}

bool RunTrace::is_interval_over() const {
  return options_.interval &&
         std::chrono::duration<double>(Clock::now() - interval_began_).count() >= *options_.interval;
}

// Behind the trace lines; beside a recording.
void RunTrace::print_histograms(const std::string& text) {
  if (have_own_file()) return write_histograms(text);
  if (output_) return output_->add_lines(text);
  print_to(is_on_stdout() ? stderr : stdout, "{}", Lines{text});
}

// The trace goes on without them.
void RunTrace::write_histograms(const std::string& text) {
  if (!histogram_output_) return;
  histogram_output_->add_lines(text);
  auto written = histogram_output_->flush();
  if (written) return;
  report_.error(written.error());
  has_failed_ = true;
  histogram_output_.reset();
}

bool RunTrace::have_own_file() const { return !options_.histogram_output.empty() && options_.histogram_output != "-"; }

bool RunTrace::is_on_stdout() const { return options_.output.empty() || options_.output == "-"; }

bool RunTrace::is_over() const {
  if (is_closed_) return true;
  if (options_.events && taken_ >= *options_.events) return true;
  if (options_.max_bytes && !options_.overwrite && written_ >= *options_.max_bytes) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

// ---- figures --------------------------------------------------------------------------------

runtime::EventCounts RunTrace::counts() const {
  runtime::EventCounts sum;
  for (const engine::TracedEvent* event : events_) sum += tracing_->records().counts(tracing_->top(), *event);
  return sum;
}

void RunTrace::show_progress() {
  if (!progress_.is_due()) return;
  const runtime::EventCounts sum = counts();  // read seldom
  progress_.show({.events = taken_, .lost = sum.lost, .missed = sum.missed, .bytes = written_});
}

void RunTrace::print_account(const engine::TracedEvent& event) const {
  const runtime::EventCounts c = tracing_->records().counts(tracing_->top(), event);
  if (report_.is_quiet() && !c.lost && !c.missed && !c.faults) return;
  const auto misses = tracing_->code().sees_misses() ? engine::Misses::Known : engine::Misses::Unknown;
  print_to(stderr, "{}", Lines{engine::accounting_line(event.name, c, misses)});
  if (const std::uint64_t gone = recorder_ ? recorder_->overwritten(event) : 0)
    print_to(stderr, "{}: {} of the recorded were overwritten by newer ones\n", event.name, gone);
  // Counters of one process know nothing of what the reader filtered (triggers of several processes).
  const engine::EventState* state = tracing_->top().find_state(event.id);
  const auto& targets = tracing_->code().targets();
  if (targets.size() > 1 && !options_.follow && (!state || state->filtered + state->aggregated + state->lost == 0))
    for (const engine::TracedTarget* target : targets)
      print_to(stderr, "  pid {} {}", target->pid(),
               Lines{engine::accounting_line(event.name, tracing_->code().counts(event.id, *target), misses)});
  if (c.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", event.name, c.faults);
}

void RunTrace::print_accounts() const {
  for (const engine::TracedEvent* event : events_) print_account(*event);
}

session::MakeWriter writer_of(const RunOptions& options, const Reporter& report) {
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
