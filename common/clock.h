// The kernel's clocks in nanoseconds (clock_gettime(2)).
#pragma once

#include <time.h>

#include <cstdint>

namespace kevt {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// The clock that records are stamped with.
inline std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// Nanoseconds since 1970, UTC.
inline std::int64_t utc_ns() { return static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)); }

}  // namespace kevt
