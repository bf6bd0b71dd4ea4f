// Clocks: how far the times of a recording may be from UTC.
//
// A record's time in the database is that of its machine's monotonic clock, plus what the wall clock was ahead of it
// when the recording began. The wall clock may have been wrong then. A shipper on the same machine notes pairs of both
// clocks and the kernel's bound of the wall clock's error (adjtimex(2): maxerror), and readers of several hosts go by
// the best pair.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/error.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

struct ClockPair {
  std::int64_t utc_ns = 0;         // since 1970
  std::int64_t monotonic_ns = 0;   // at the same moment
  std::int64_t max_error_ns = -1;  // of utc_ns; -1: nothing keeps the clock right
};

// Of this machine, now.
ClockPair read_clocks();

Result<void> put_clocks(Server& server, const std::string& host, const std::string& session, const ClockPair& pair);

// What the pairs of a recording say, of which something kept the clock right.
struct ClockNotes {
  std::int64_t ahead_ns = 0;                           // of the pair with the least error
  std::int64_t max_error_ns = 0;                       // its
  std::int64_t least_ahead_ns = 0, most_ahead_ns = 0;  // of all
};
// Of the recordings that are meant, by their ids. Those without such a pair are not in it.
Result<std::map<std::string, ClockNotes>> find_clocks(Server& server, const Address& address);

struct ClockFit {
  std::int64_t shift_ns = 0;             // to be added to the recording's times in the database
  std::optional<std::int64_t> error_ns;  // how far they may be off then, in either direction; nullopt: not known
};
// `wall_offset_ns`: what the recording took the wall clock to be ahead. The error holds for the whole recording as far
// as pairs were noted in it: it is the best pair's own, and how far others are from it.
ClockFit fit_clock(std::int64_t wall_offset_ns, const ClockNotes& notes);
// How far the clock pairs of a recording are from its best one.
std::int64_t drift_of(const ClockNotes& notes);
// The same of the recording with this id.
ClockFit fit_clock(std::int64_t wall_offset_ns, const std::map<std::string, ClockNotes>& all,
                   const std::string& session);

// "±1.2 ms", of an error; "unknown".
std::string error_text(const std::optional<std::int64_t>& error_ns);

}  // namespace kevt::fleet
