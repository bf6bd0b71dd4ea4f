// One entry for all verbs about recordings, so that main.cpp need not know them one by one.
#include "cli/verbs/cmd_recordings.h"

#include "cli/exit_status.h"

namespace kevt::cli {
namespace {

struct RecordingCall {
  const GlobalOptions& global;
  int operator()(std::monostate) const { return kUsage; }
  int operator()(const ReportOptions& options) const { return report_recording(options, global); }
  int operator()(const ConvertOptions& options) const { return convert_recording(options, global); }
  int operator()(const FlameOptions& options) const { return flame_recording(options, global); }
  int operator()(const StatOptions& options) const { return stat_recording(options, global); }
  int operator()(const DiffOptions& options) const { return diff_recordings(options, global); }
  int operator()(const CountOptions& options) const { return count_records(options, global); }
  int operator()(const HistOptions& options) const { return value_histogram(options, global); }
  int operator()(const LatOptions& options) const { return measure_latency(options, global); }
  int operator()(const TopOptions& options) const { return top_events(options, global); }
  int operator()(const StreamOptions& options) const { return stream_records(options, global); }
};

}  // namespace

int recordings(const RecordingVerb& verb, const GlobalOptions& global) {
  return std::visit(RecordingCall{global}, verb.verb);
}

}  // namespace kevt::cli
