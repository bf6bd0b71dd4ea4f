#pragma once

#include "cli/options/fleet_options.h"
#include "cli/reporter.h"
#include "tracefs-compat/fleet/address.h"

namespace kevt::cli {

// How wrong the times of recordings may be, and with --sent and --received first: by what hosts said to one another.
int show_clocks(const fleet::Address& address, const FleetOptions& options, const Reporter& report);

}  // namespace kevt::cli
