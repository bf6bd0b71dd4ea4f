// kevtrace diff: two recordings, one table. The output is opened when the table is made: a mistake empties no file.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/recording_input.h"
#include "cli/verbs/cmd_recordings.h"
#include "common/error.h"
#include "tracefs-compat/record/analysis/compare.h"
#include "tracefs-compat/record/output_file.h"

namespace kevt::cli {
namespace {

Result<void> write_to(const std::string& output, std::string_view text) {
  auto file = KEVT_TRY(record::OutputFile::create(output));
  if (file.controls() == Controls::Escaped)
    file.append(escaped_lines(text));
  else
    file.append(text);
  return file.flush();
}

}  // namespace

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
  const auto form = answer_form(options.format, options.output, report);
  if (!form) return kUsage;
  int status = kOk;
  auto a = RecordingInput::open({.file = options.a, .filters = options.filters, .from = "", .to = "", .limit = {}},
                                report, status);
  if (!a) return status;
  auto b = RecordingInput::open({.file = options.b, .filters = options.filters, .from = "", .to = "", .limit = {}},
                                report, status);
  if (!b) return status;
  const bool is_standard = options.output.empty() || options.output == "-";
  auto table = record::compare_recordings(a->reader(), b->reader(), request,
                                          is_standard ? controls_for(STDOUT_FILENO) : Controls::Raw, *form);
  if (!table) {
    report.error(table.error());
    return kNotCompiled;
  }
  if (auto written = write_to(options.output, *table); !written && written.error().errno_value() != EPIPE) {
    report.error(written.error());
    return kFailed;
  }
  const int first = a->finish(report), second = b->finish(report);
  return first ? first : second;
}

}  // namespace kevt::cli
