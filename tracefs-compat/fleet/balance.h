// Balance: whether every hit of a fleet is accounted for.
//
//   hits = recorded + aggregated + filtered + lost + missed            as the engine counted them
//   rows + purged + spooled + spool_lost = recorded - overwritten      as the database has them
//
// `rows` are counted in the event's table; `purged` were there until their day was given back; `spooled` are records
// that the shipper saw and the server had not taken at the last checkpoint; `spool_lost` are records that the recording
// had lost before the shipper saw them. A recording that goes on in another file, since its process died, is balanced
// together with that file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

struct EventBalance {
  std::string host, session, event;  // the session: of the first recording
  std::uint64_t rows = 0, twice = 0, purged = 0, spooled = 0, spool_lost = 0, recorded = 0;
  std::uint64_t not_rolled_up = 0;        // rows that no overview has
  std::uint64_t hits = 0, accounted = 0;  // the two sides of the first line
  bool is_whole = false;                  // the recording was finished, and all of it was shipped
  bool is_exact = true;                   // false: the recording has no totals (it is still written, or was killed)
  std::string checkpoint;                 // "2026-11-28 01:30:00" UTC

  bool holds() const { return rows + purged + spooled + spool_lost == recorded && hits == accounted && twice == 0; }
};

// "2026-11-28 01:30:00", of nanoseconds since 1970.
std::string utc_text(std::int64_t ns);

// Records of one recording that are there or were, counted now: in the tables, each once, and in days that were given
// back. The address names the host and the whole id of the recording.
Result<std::uint64_t> count_records(Server& server, const Address& address);

// By host, recording and event.
Result<std::vector<EventBalance>> balance(Server& server, const Address& address);

}  // namespace kevt::fleet
