// Random fetch IR programs that pass ir::verify, for differential tests.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "tests/support/random_pick.h"

namespace kevt::test {

struct RandomOptions {
  std::vector<std::uint64_t> addresses;  // for immediates, not empty: MemoryArena::addresses()
  std::vector<std::string> words;        // for texts and patterns, not empty: MemoryArena::words()
  std::set<ir::Op> excluded;             // ops that must not occur; Immediate always may
  std::uint32_t max_values = 20;
  std::uint32_t max_fetched_texts = 8;  // String and Comm values
  std::uint32_t max_stores = 8;
  std::uint32_t max_sinks = 4;
  std::uint32_t max_condition_depth = 4;
  std::uint32_t max_switches = 0;    // actions, and as many gates; in programs with one sink
  std::uint32_t max_aggregates = 0;  // likewise, in place of those
};

// Any op, store and condition that the options leave, entry and return, dead values too. Reads go through
// addresses that `addresses`, the machine's registers and slots, or aligned words of the arena gave, ±4096:
// nothing else of the process is read. Instances are 0, 1, 2, …; shared words 0 to kRandomWords - 1.
inline constexpr std::uint32_t kRandomWords = 4;
ir::Program random_program(Random& random, const RandomOptions& options);

}  // namespace kevt::test
