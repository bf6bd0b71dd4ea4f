// kevtrace fleet run: signs an order, waits for what hosts answer, and for their records.
#pragma once

#include "cli/fleet/fleet_servers.h"
#include "cli/options/fleet_options.h"
#include "cli/reporter.h"

namespace kevt::cli {

int give_order(Servers& servers, const fleet::Address& address, const FleetOptions& options, const Reporter& report);

}  // namespace kevt::cli
