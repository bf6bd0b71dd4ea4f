// Meant: the recordings that an address means, the servers that have them, and how far their clocks are from UTC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/clock_bounds.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

struct MeantSession {
  Session session;
  Server* server = nullptr;
  std::int64_t shift_ns = 0;  // of its times (ClockFit); 0 where it is the only one
};

struct Meant {
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<MeantSession> sessions;  // one at least; without notes and comms
  std::string clock_note;              // what a reader of times should know; empty: nothing
  // Of UTC to the times that readers show: a recording's own where it is the only one, else UTC.
  std::int64_t zero_ns() const { return sessions.size() == 1 ? sessions.front().session.wall_offset_ns : 0; }
};

struct ClocksOfMeant {
  std::vector<OwnClock> own;  // of each recording, by itself
  FittedClocks fitted;        // by what was sent and received, too
};
Result<ClocksOfMeant> fit_clocks(const Meant& meant, const Address& address);

// Asks the servers, with the keys of fleet.conf. `is_stopped` ends this and all later questions to them: error
// ECANCELED.
Result<Meant> find_meant(const Address& address, const std::function<bool()>& is_stopped = {});

}  // namespace kevt::fleet
