// Clock bounds: how far two machines' clocks can be apart, by what one has sent and the other received (docs/adr/0047).
//
//   sent by a at 100 (its clock), received by b at 103     b cannot have it earlier: a's time + x_a <= b's time + x_b
//   sent by b at 107, received by a at 101                 ─►  -6 <= x_b - x_a ... and x_a - x_b <= 3
//
// x is what is to be added to the times of a recording's rows. Such differences, and what the kernel says of each clock
// (clocks.h), are a system of difference constraints; shortest paths solve it (Bellman 1958, Floyd 1962).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/clocks.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

// x of the recording that sent - x of the one that received <= most_ns.
struct ClockBound {
  std::string sent, received;  // ids of recordings
  std::int64_t most_ns = 0;
  std::uint64_t messages = 0;  // that were matched
};

// A bound of more says nothing.
inline constexpr std::int64_t kFarthestNs = 400ll * 86'400 * 1'000'000'000;

// `events` names the two ends: what these events said before is replaced, what others said stays.
Result<void> put_clock_bounds(Server& server, std::string_view events, const std::vector<ClockBound>& bounds);
// All of the database.
Result<void> forget_clock_bounds(Server& server);
// Those between two of these recordings; none where there are more than kMostTied.
Result<std::vector<ClockBound>> find_clock_bounds(Server& server, std::span<const std::string> recordings);
inline constexpr std::size_t kMostTied = 1024;  // the work grows with its third power

// What is known of a recording by itself.
struct OwnClock {
  std::string id;  // of the recording
  ClockFit fit;
  std::int64_t drift_ns = 0;  // how far its clock went from the wall clock meanwhile: bounds are so much wider
};

struct FittedClocks {
  std::vector<ClockFit> fits;  // of each recording; the error is against UTC
  // How wrong a time may be against one of any other recording; nullopt: not known of all pairs, or there is no bound.
  std::optional<std::int64_t> apart_ns;
  std::size_t bounds = 0;    // that are about two of these recordings
  bool contradicts = false;  // the bounds cannot all hold: none was used
};
FittedClocks fit_clocks(std::span<const OwnClock> clocks, std::span<const ClockBound> bounds);

}  // namespace kevt::fleet
