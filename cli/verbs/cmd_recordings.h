// The verbs about recordings. Each returns the exit status.
#pragma once

#include "cli/options/options.h"
#include "cli/options/record_options.h"

namespace kevt::cli {

int recordings(const RecordingVerb& verb, const GlobalOptions& global);

int report_recording(const ReportOptions& options, const GlobalOptions& global);
int convert_recording(const ConvertOptions& options, const GlobalOptions& global);
int flame_recording(const FlameOptions& options, const GlobalOptions& global);
int stat_recording(const StatOptions& options, const GlobalOptions& global);
int diff_recordings(const DiffOptions& options, const GlobalOptions& global);
int count_records(const CountOptions& options, const GlobalOptions& global);
int value_histogram(const HistOptions& options, const GlobalOptions& global);
int measure_latency(const LatOptions& options, const GlobalOptions& global);
int top_events(const TopOptions& options, const GlobalOptions& global);
int stream_records(const StreamOptions& options, const GlobalOptions& global);

}  // namespace kevt::cli
