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
  EXPECT_LT(
      std::abs(pair.utc_ns - pair.monotonic_ns - (utc_ns() - static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC)))),
      std::int64_t{3600} * 1'000'000'000)
      << "unless the clock is set at this moment";
  EXPECT_GE(pair.max_error_ns, -1);
}

TEST(ClocksTest, GoByTheBestPair) {
  const std::int64_t began = kUtc - 1000, better = began + 3'000'000'000;
  const ClockNotes notes{
      .ahead_ns = better, .max_error_ns = 5'000, .least_ahead_ns = better - 70, .most_ahead_ns = better + 200};
  const ClockFit fit = fit_clock(began, notes);
  EXPECT_EQ(fit.shift_ns, 3'000'000'000);
  EXPECT_EQ(fit.error_ns, 5'000 + 200);
  EXPECT_EQ(fit_clock(began, {{"a", notes}}, "a").error_ns, fit.error_ns);
  EXPECT_FALSE(fit_clock(began, {{"a", notes}}, "b").error_ns);
  EXPECT_EQ(fit_clock(began, {{"a", notes}}, "b").shift_ns, 0);
}

TEST(ClocksTest, TakeAnyNumbers) {
  constexpr std::array kOdd = {INT64_MIN, INT64_MAX, std::int64_t{0}, std::int64_t{-1}};
  for (const std::int64_t offset : kOdd)
    for (const std::int64_t ahead : kOdd)
      for (const std::int64_t error : kOdd) {
        const ClockFit fit = fit_clock(
            offset, {.ahead_ns = ahead, .max_error_ns = error, .least_ahead_ns = error, .most_ahead_ns = offset});
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
