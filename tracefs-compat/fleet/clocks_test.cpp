#include "tracefs-compat/fleet/clocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "common/clock.h"

namespace kevt::fleet {
namespace {

constexpr std::int64_t kUtc = 1'764'300'000'000'000'000;

TEST(ClocksTest, AreReadTogether) {
  const ClockPair pair = read_clocks();
  EXPECT_LT(std::abs(pair.ahead_ns() - (utc_ns() - static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC)))),
            std::int64_t{3600} * 1'000'000'000)
      << "unless the clock is set at this moment";
  EXPECT_GE(pair.max_error_ns, -1);
}

TEST(ClocksTest, GoByTheBestPair) {
  const ClockPair wrong{.utc_ns = kUtc, .monotonic_ns = 1000, .max_error_ns = -1};
  const ClockPair good{.utc_ns = kUtc + 3'000'000'000, .monotonic_ns = 1000, .max_error_ns = 5'000};
  const ClockPair worse{.utc_ns = good.utc_ns + 1'000'200, .monotonic_ns = 1'001'000, .max_error_ns = 9'000};
  const std::int64_t began = wrong.ahead_ns();
  EXPECT_FALSE(fit_clock(began, {}).error_ns);
  EXPECT_FALSE(fit_clock(began, std::array{wrong}).error_ns) << "nothing keeps it right";
  EXPECT_EQ(fit_clock(began, std::array{wrong}).shift_ns, 0);
  const ClockFit fit = fit_clock(began, std::array{wrong, worse, good});
  EXPECT_EQ(fit.shift_ns, 3'000'000'000);
  EXPECT_EQ(fit.error_ns, 5'000 + 200);
}

TEST(ClocksTest, TakeAnyNumbers) {
  for (const std::int64_t ahead : {INT64_MIN, INT64_MAX, std::int64_t{0}}) {
    const ClockPair pair{.utc_ns = 1ll << 61, .monotonic_ns = 0, .max_error_ns = INT64_MAX};
    const ClockFit fit = fit_clock(
        ahead, std::array{pair, ClockPair{.utc_ns = 0, .monotonic_ns = 1ll << 61, .max_error_ns = INT64_MAX}});
    EXPECT_TRUE(!fit.error_ns || *fit.error_ns >= 0);
  }
}

TEST(ClocksTest, SayTheirError) {
  EXPECT_EQ(error_text(std::nullopt), "unknown");
  EXPECT_EQ(error_text(1'500), "±2 us");
  EXPECT_EQ(error_text(1'250'000), "±1.2 ms");
  EXPECT_EQ(error_text(16'000'000'000), "±16.0 s");
}

}  // namespace
}  // namespace kevt::fleet
