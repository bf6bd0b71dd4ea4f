// kevtrace diff: two recordings, one table. The output is opened when the table is made: a mistake empties no file.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/recording_input.h"
#include "cli/verbs/cmd_recordings.h"
#include "tracefs-compat/record/analysis/compare.h"
#include "tracefs-compat/record/analysis/compare_html.h"

namespace kevt::cli {
int diff_recordings(const DiffOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  record::CompareRequest request;
  for (const std::string& field : options.fields) request.values.push_back(record::parse_value_name(field));
  for (const std::string& pair : options.latencies) {
    const auto comma = pair.find(',');
    if (comma == std::string::npos) {
      report.error(fmt::format("--lat: `{}` is no START,END", pair));
      return kUsage;
    }
    request.latencies.push_back({pair.substr(0, comma), pair.substr(comma + 1), std::nullopt});
  }
  const bool is_html = options.format == "html" || (options.format.empty() && options.output.ends_with(".html"));
  const auto form = is_html ? record::AnswerForm::Text : answer_form(options.format, options.output, report);
  if (!form) return kUsage;
  request.wants_paths = is_html;
  request.align_on = options.align;
  int status = kOk;
  const auto open = [&](const std::string& file, const std::string& range) {
    InputOptions input{.file = file, .filters = options.filters, .from = "", .to = "", .limit = {}};
    take_range(range, input);
    return RecordingInput::open(input, report, status);
  };
  auto a = open(options.a, options.range_a);
  if (!a) return status;
  auto b = open(options.b, options.range_b);
  if (!b) return status;
  const auto both = record::compare_recordings(a->reader(), b->reader(), request);
  if (!both) {
    report.error(both.error());
    return kNotCompiled;
  }
  const bool is_standard = options.output.empty() || options.output == "-";
  const std::string answer =
      is_html ? record::comparison_html(*both, {options.a, &a->metadata()}, {options.b, &b->metadata()})
      : *form == record::AnswerForm::Json
          ? record::comparison_json(*both)
          : record::comparison_text(*both, is_standard ? controls_for(STDOUT_FILENO) : Controls::Raw);
  if (auto written = write_answer(options.output, answer); !written && written.error().errno_value() != EPIPE) {
    report.error(written.error());
    return kFailed;
  }
  const int first = a->finish(report), second = b->finish(report);
  return first ? first : second;
}

}  // namespace kevt::cli
