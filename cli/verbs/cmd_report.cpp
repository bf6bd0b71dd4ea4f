// kevtrace report, convert: a recording in, another form of it out. Records stream through: memory does not grow
// with the file.
#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/recording_input.h"
#include "cli/verbs/cmd_recordings.h"
#include "common/error.h"
#include "common/print.h"
#include "tracefs-compat/record/analysis/columns.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::cli {
namespace {

constexpr std::size_t kEnough = 256 << 10;

record::TimeStyle style_of(const std::string& name) {
  if (name == "relative") return record::TimeStyle::Relative;
  if (name == "delta") return record::TimeStyle::Delta;
  return name == "wall" ? record::TimeStyle::Wall : record::TimeStyle::Absolute;
}

// Reports an error of writing; that a reader has left (EPIPE) is no error.
int written(const Result<void>& result, const Reporter& report) {
  if (result || result.error().errno_value() == EPIPE) return kOk;
  report.error(result.error());
  return kFailed;
}

class TextOutput {
  using Words = record::TraceLines::Words;

 public:
  TextOutput(RecordingInput& input, record::OutputFile file, const ReportOptions& options)
      : input_(input),
        file_(std::move(file)),
        lines_(input.metadata(), {.times = style_of(options.times),
                                  .controls = file_.controls(),
                                  .words = options.raw_format ? Words::PrintFormat : Words::Plugins,
                                  .is_completed_later = options.columns.empty()}),
        columns_(options.columns, lines_, file_.controls()) {}

  Result<void> run() {
    record::TypedRecord record;
    while (input_.reader().next(record)) {
      if (columns_.empty())
        lines_.append(record, file_.buffer());
      else
        columns_.append(record, file_.buffer());
      if (file_.buffer().size() >= kEnough) KEVT_TRY(flush());
    }
    // Those of several hosts are one: of one host its own address shows them.
    const bool is_part = input_.is_of_one_instance() && !input_.metadata().origins.empty();
    if (columns_.empty() && !is_part)
      for (const record::HistogramReading& one : input_.metadata().histograms) {
        if (&one != &input_.metadata().histograms.front()) file_.append("\n");
        file_.append(file_.controls() == Controls::Escaped ? escaped_lines(one.text) : one.text);
      }
    return flush();
  }
  std::optional<std::string> take_problem() { return lines_.take_problem(); }

 private:
  Result<void> flush() {
    lines_.complete(file_.buffer());
    return file_.flush();
  }

  RecordingInput& input_;
  record::OutputFile file_;
  record::TraceLines lines_;
  record::Columns columns_;
};

int print_text(RecordingInput& input, const ReportOptions& options, const Reporter& report) {
  if (options.times == "wall" && !input.metadata().wall_offset_ns) {
    report.error("the recording does not say what time of the day it was made");
    return kFailed;
  }
  if (auto unknown = record::Columns::unknown(options.columns, input.metadata())) {
    report.error(fmt::format("no event of the recording has a field `{}`", *unknown));
    return kNotCompiled;
  }
  auto file = record::OutputFile::create(options.output);
  if (!file) {
    report.error(file.error());
    return kFailed;
  }
  TextOutput output(input, std::move(*file), options);
  const int put = written(output.run(), report);
  if (const auto problem = output.take_problem()) report.status(*problem);
  const int read = input.finish(report);
  return put ? put : read;
}

int rewrite(RecordingInput& input, record::FileFormat format, const std::string& output, const Reporter& report) {
  const bool says_whose =
      format == record::FileFormat::Json || (format == record::FileFormat::Csv && !input.metadata().origins.empty());
  if (!input.metadata().instances.empty() && !input.is_of_one_instance() && !says_whose)
    report.status("records of all instances are written as of one; -B NAME takes those of one alone");
  auto writer = record::create_recording(format, output, input.metadata());
  if (!writer) {
    report.error(writer.error());
    return kFailed;
  }
  Result<void> put;
  record::TypedRecord record;
  while (put && input.reader().next(record)) put = (*writer)->add(record);
  if (put) put = (*writer)->finish();
  if (const auto note = (*writer)->take_note()) report.status(*note);
  const int status = written(put, report);
  const int read = input.finish(report);
  return status ? status : read;
}

}  // namespace

int report_recording(const ReportOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  int status = kOk;
  auto input = RecordingInput::open(options.input, report, status);
  if (!input) return status;
  const auto format = output_format(options.format, options.output, report);
  if (format == record::FileFormat::Text) return print_text(*input, options, report);
  return rewrite(*input, format, options.output, report);
}

int convert_recording(const ConvertOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  auto format = record::format_by_file(options.output);
  if (!options.format.empty()) format = record::format_by_name(options.format);
  if (!format) {
    report.error(fmt::format("`{}` does not tell its format; add -f ({}), or an ending ({})", options.output,
                             record::format_names(), record::format_endings()));
    return kUsage;
  }
  int status = kOk;
  auto input = RecordingInput::open(options.input, report, status);
  if (!input) return status;
  return rewrite(*input, *format, options.output, report);
}

}  // namespace kevt::cli
