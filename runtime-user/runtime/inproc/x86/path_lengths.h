// How many instructions an extractor runs, from its bytes: the cost of a hit before there is one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace kevt::x86 {

// Instructions from the entry to `ret`, `ret` included.
struct PathRange {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

// The two ways out of an extractor, told apart by the counter that is incremented on the way (kevt_counts). Ways that
// call the agent are left out: first hits of threads, long strings, faults, nested hits.
struct PathLengths {
  std::optional<PathRange> recorded;  // nullopt: no such way without the agent
  std::optional<PathRange> rejected;
};

// `turns`: how often a loop is taken at most (the longest array of the event).
PathLengths path_lengths(std::span<const std::uint8_t> extractor, std::uint32_t turns);

}  // namespace kevt::x86
