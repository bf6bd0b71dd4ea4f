// `kevtrace run` of the kernel.
#pragma once

#include "cli/definitions/run_request.h"
#include "cli/options/options.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

// Traces until CMD ends, a limit of the options is reached, or a signal interrupts. Returns the exit status. `make`:
// makes the writer of the records; empty: trace lines are printed.
int run_in_kernel(RunRequest request, const GlobalOptions& global, const session::MakeWriter& make);

}  // namespace kevt::cli
