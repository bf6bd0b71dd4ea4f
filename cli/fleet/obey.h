// kevtrace fleet obey: carries out the orders of a fleet on this host.
//
//   kevt_wanted ─► signature, fleet, time, selector, script ─► the book of orders ─► kevtrace run ─► FOLDER/ID.dat
//                              │ no                                                                     │
//   kevt_answers ◄─────────────┴──────────────────────── running, ended, failed ◄───────────────────────┘
//
// It sends no records: `kevtrace fleet ship --follow FOLDER` does, without its privileges.
#pragma once

#include "cli/fleet/fleet_servers.h"
#include "cli/options/fleet_options.h"
#include "cli/reporter.h"

namespace kevt::cli {

int obey(Servers& servers, const FleetOptions& options, const Reporter& report);

}  // namespace kevt::cli
