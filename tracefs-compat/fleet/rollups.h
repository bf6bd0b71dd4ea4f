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

// Counts the steps that this time is in: from `from_ns` to `to_ns`, since 1970, both included. `query_id`: for
// Server::stop_queries(); may be empty.
Result<void> roll_up(Server& server, const RowsOfEvent& rows, std::int64_t from_ns, std::int64_t to_ns,
                     const std::string& query_id);

// Whether rows are in no step of some length.
Result<bool> lacks_rollups(Server& server, const RowsOfEvent& rows);

// How many rows of a table are in the rollups, by recording: in the steps of the length that has the fewest.
Result<std::map<std::string, std::uint64_t>> count_rolled_up(Server& server, const std::string& table,
                                                             const std::string& condition);

// Counts all that is not in the rollups. Returns how many rows had been missing.
Result<std::uint64_t> roll_up_what_lacks(Server& server);

}  // namespace kevt::fleet
