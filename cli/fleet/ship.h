// kevtrace fleet ship: recordings into the database, once or as long as they grow.
#pragma once

#include "cli/fleet/fleet_servers.h"
#include "cli/options/fleet_options.h"
#include "cli/reporter.h"

namespace kevt::cli {

int ship(Servers& servers, const FleetOptions& options, const Reporter& report);

}  // namespace kevt::cli
