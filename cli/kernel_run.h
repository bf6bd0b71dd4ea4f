// kevtrace run, when the kernel is traced.
#pragma once

#include "cli/options.h"
#include "cli/run_request.h"

namespace kevt::cli {

// Until CMD ends, the limits of the options are reached, or somebody interrupts. The exit status.
int run_in_kernel(RunRequest request, const GlobalOptions& global);

}  // namespace kevt::cli
