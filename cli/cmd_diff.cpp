// kevtrace diff: two recordings, one table.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/cmd_recordings.h"
#include "cli/exit_status.h"
#include "cli/print.h"
#include "cli/recording_input.h"
#include "tracefs-compat/record/compare.h"

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
  int status = kOk;
  auto a = RecordingInput::open({.file = options.a, .filters = options.filters, .from = "", .to = "", .limit = {}},
                                report, status);
  if (!a) return status;
  auto b = RecordingInput::open({.file = options.b, .filters = options.filters, .from = "", .to = "", .limit = {}},
                                report, status);
  if (!b) return status;
  auto table = record::compare_recordings(a->reader(), b->reader(), request, controls_for(STDOUT_FILENO));
  if (!table) {
    report.error(table.error());
    return kNotCompiled;
  }
  print("{}", Lines{*table});
  const int first = a->finish(report), second = b->finish(report);
  return first ? first : second;
}

}  // namespace kevt::cli
