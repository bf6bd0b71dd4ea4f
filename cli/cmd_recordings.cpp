// One entry for all verbs about recordings, so that main.cpp need not know them one by one.
#include "cli/cmd_recordings.h"

#include "cli/exit_status.h"

namespace kevt::cli {
namespace {

struct Call {
  const GlobalOptions& global;
  int operator()(std::monostate) const { return kUsage; }
  int operator()(const ReportOptions& options) const { return report_recording(options, global); }
  int operator()(const ConvertOptions& options) const { return convert_recording(options, global); }
};

}  // namespace

int recordings(const RecordingVerb& verb, const GlobalOptions& global) { return std::visit(Call{global}, verb.verb); }

}  // namespace kevt::cli
