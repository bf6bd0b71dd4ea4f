// kevtrace list -L: the lines of the source that can be probed, and the variables in sight there.
#pragma once

#include "cli/options/options.h"
#include "cli/reporter.h"

namespace kevt::cli {

// The exit status.
int list_lines(const ListOptions& options, const Reporter& report);

}  // namespace kevt::cli
