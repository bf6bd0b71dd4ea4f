// TscClock: raw time-stamp counter → CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <cstdint>
#include <deque>

namespace kevt::inproc {

// Hits store the raw counter (9 ns; clock_gettime would take 21). Pairs of both clocks, taken at start, at
// every drain and at the end, map it piecewise and monotonically; between two pairs the error is theirs,
// tens of nanoseconds.
class TscClock {
 public:
  // Whether the counter runs at a constant rate on all CPUs: they say so (constant_tsc and nonstop_tsc), or it is the
  // kernel's clock source.
  static bool is_usable();

  void sample();
  std::uint64_t to_ns(std::uint64_t tsc) const;
  std::uint64_t now_tsc() const;

 private:
  struct Pair {
    std::uint64_t tsc = 0;
    std::uint64_t ns = 0;
  };
  std::deque<Pair> pairs_;  // ascending
};

}  // namespace kevt::inproc
