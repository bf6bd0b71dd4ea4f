// Each pair is the tightest of a few tries of rdtsc, clock_gettime, rdtsc. Pairs closer than
// kMinimumGap are dropped instead of adding noise to the slope.
#include "runtime-user/runtime/inproc/memory/tsc_clock.h"

#include <time.h>
#include <x86intrin.h>

#include <fstream>
#include <string>

#include "common/clock.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMinimumGapTsc = 20'000'000;  // about 5 to 10 ms
constexpr std::size_t kMaxPairs = 4096;

}  // namespace

// Where the CPU promises nothing, the kernel's own clock may be made of the counter: the kernel watches it then, and
// takes another clock source when it goes wrong (Documentation/timers/timekeeping.rst, 6.1).
bool TscClock::is_usable() {
  std::string source;
  std::getline(std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource"), source);
  if (source == "tsc") return true;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags"))
      return line.find(" constant_tsc") != std::string::npos && line.find(" nonstop_tsc") != std::string::npos;
  return false;
}

std::uint64_t TscClock::now_tsc() const { return __rdtsc(); }

void TscClock::sample() {
  Pair best;
  std::uint64_t tightest = ~0ull;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = __rdtsc();
    const std::uint64_t ns = now_ns();
    const std::uint64_t after = __rdtsc();
    if (after - before >= tightest) continue;
    tightest = after - before;
    best = {before + (after - before) / 2, ns};
  }
  if (!pairs_.empty() && best.tsc - pairs_.back().tsc < kMinimumGapTsc && pairs_.size() > 1) return;
  pairs_.push_back(best);
  if (pairs_.size() > kMaxPairs) pairs_.pop_front();
}

std::uint64_t TscClock::to_ns(std::uint64_t tsc) const {
  if (pairs_.empty()) return 0;
  if (pairs_.size() == 1) return pairs_.front().ns;
  // The segment that holds `tsc`; the first and last ones also serve what lies outside.
  std::size_t i = pairs_.size() - 1;
  while (i > 1 && pairs_[i - 1].tsc > tsc) --i;
  const Pair& a = pairs_[i - 1];
  const Pair& b = pairs_[i];
  const double slope = static_cast<double>(b.ns - a.ns) / static_cast<double>(b.tsc - a.tsc);
  const double distance = static_cast<double>(static_cast<std::int64_t>(tsc - a.tsc)) * slope;
  return a.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
}

}  // namespace kevt::inproc
