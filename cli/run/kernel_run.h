// kevtrace run, when the kernel is traced.
#pragma once

#include "cli/definitions/run_request.h"
#include "cli/options/options.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

// Until CMD ends, the limits of the options are reached, or somebody interrupts. The exit status. `make`: who takes the
// records; empty: trace lines are printed.
int run_in_kernel(RunRequest request, const GlobalOptions& global, const session::MakeWriter& make);

}  // namespace kevt::cli
