// The verbs about recordings. Each returns the exit status.
#pragma once

#include "cli/options.h"
#include "cli/record_options.h"

namespace kevt::cli {

int recordings(const RecordingVerb& verb, const GlobalOptions& global);

int report_recording(const ReportOptions& options, const GlobalOptions& global);
int convert_recording(const ConvertOptions& options, const GlobalOptions& global);

}  // namespace kevt::cli
