// kevtrace fleet rates: how many records hosts have when, from the rollups.
#pragma once

#include <string>

#include "cli/options/fleet_options.h"
#include "cli/reporter.h"

namespace kevt::cli {

int show_rates(const FleetOptions& options, const Reporter& report);

}  // namespace kevt::cli
