// Rollups: how many records an event of a recording has in each millisecond, 100 ms and 10 s. Pictures of long times
// are made of them (overview.h).
//
// The server counts the rows that it has; counting again is no harm. See docs/adr/0045.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/error.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

inline constexpr std::int64_t kRollupSteps[] = {1'000'000, 100'000'000, 10'000'000'000};  // ns, each a part of the next
inline constexpr std::int64_t kLongestStepNs = kRollupSteps[2];

// The rows of one event of one recording.
struct RowsOfEvent {
  std::string host, session, table;
};

// Counts the steps that this time is in: from `from_ns` to `to_ns`, since 1970, both included.
Result<void> roll_up(Server& server, const RowsOfEvent& rows, std::int64_t from_ns, std::int64_t to_ns);

// When the last step begins that was counted, by the event's table. Rows before that moment are in the rollups.
Result<std::map<std::string, std::int64_t>> find_rolled_up(Server& server, const std::string& host,
                                                           const std::string& session);

// How many rows of a table are in the rollups, by recording.
Result<std::map<std::string, std::uint64_t>> count_rolled_up(Server& server, const std::string& table,
                                                             const std::string& condition);

// Counts what is not in the rollups: of all recordings, or of those that are not finished (their shippers may have
// been killed). Returns how many rows had been missing.
enum class Lacking : std::uint8_t { All, Unfinished };
Result<std::uint64_t> roll_up_what_lacks(Server& server, Lacking which);

}  // namespace kevt::fleet
