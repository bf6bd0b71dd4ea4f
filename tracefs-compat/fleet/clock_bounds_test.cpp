#include "tracefs-compat/fleet/clock_bounds.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace kevt::fleet {
namespace {

constexpr std::int64_t kMs = 1'000'000;

OwnClock known(std::string id, std::int64_t shift, std::int64_t error) {
  return {.id = std::move(id), .fit = {.shift_ns = shift, .error_ns = error}};
}
OwnClock unknown(std::string id) { return {.id = std::move(id)}; }

TEST(ClockBounds, WithoutBoundsEachClockIsAsItIs) {
  const std::vector<OwnClock> clocks = {known("a", 5 * kMs, 2 * kMs), unknown("b")};
  const FittedClocks fitted = fit_clocks(clocks, {});
  EXPECT_EQ(fitted.fits[0].shift_ns, 5 * kMs);
  EXPECT_EQ(fitted.fits[0].error_ns, 2 * kMs);
  EXPECT_FALSE(fitted.fits[1].error_ns);
  EXPECT_FALSE(fitted.apart_ns);
  EXPECT_EQ(fit_clocks(clocks, std::vector<ClockBound>{{"a", "nobody", 1, 1}}).bounds, 0u);
}

TEST(ClockBounds, MessagesInBothDirectionsTieTwoClocks) {
  const std::vector<OwnClock> clocks = {known("a", 0, 16 * kMs), known("b", 0, 16 * kMs)};
  // b is 3 ms behind a: what a sends at 100 is received at 97.2, and 0.2 ms are the way.
  const FittedClocks fitted =
      fit_clocks(clocks, std::vector<ClockBound>{{"a", "b", -28 * kMs / 10, 9}, {"b", "a", 32 * kMs / 10, 9}});
  EXPECT_FALSE(fitted.contradicts);
  EXPECT_EQ(fitted.fits[1].shift_ns - fitted.fits[0].shift_ns, 3 * kMs);
  EXPECT_EQ(fitted.apart_ns, 2 * kMs / 10);
  EXPECT_LE(*fitted.fits[0].error_ns, 16 * kMs);
}

TEST(ClockBounds, AClockThatNothingKeepsIsTiedToOneThatIsKept) {
  const std::vector<OwnClock> clocks = {known("a", 0, 1 * kMs), unknown("b"), unknown("c")};
  const FittedClocks fitted =
      fit_clocks(clocks, std::vector<ClockBound>{{"a", "b", -100 * kMs, 1}, {"b", "a", 101 * kMs, 1}});
  EXPECT_EQ(fitted.fits[1].shift_ns, 100 * kMs + kMs / 2);
  EXPECT_EQ(fitted.fits[1].error_ns, 3 * kMs / 2);
  EXPECT_FALSE(fitted.fits[2].error_ns);
  EXPECT_FALSE(fitted.apart_ns) << "nothing is known of c";
}

TEST(ClockBounds, OneDirectionKeepsTheOrderAlone) {
  const std::vector<OwnClock> clocks = {unknown("a"), unknown("b")};
  const FittedClocks fitted = fit_clocks(clocks, std::vector<ClockBound>{{"a", "b", -7 * kMs, 1}});
  EXPECT_GE(fitted.fits[1].shift_ns - fitted.fits[0].shift_ns, 7 * kMs);
  EXPECT_FALSE(fitted.fits[1].error_ns);
  EXPECT_FALSE(fitted.apart_ns);
}

TEST(ClockBounds, WhatCannotHoldIsNotUsed) {
  const std::vector<OwnClock> clocks = {known("a", 1 * kMs, 1 * kMs), known("b", 0, 1 * kMs)};
  for (const auto& bounds : {std::vector<ClockBound>{{"a", "b", -9 * kMs, 1}},  // against the hosts' own clocks
                             std::vector<ClockBound>{{"a", "b", -1, 1}, {"b", "a", -1, 1}}}) {
    const FittedClocks fitted = fit_clocks(clocks, bounds);
    EXPECT_TRUE(fitted.contradicts);
    EXPECT_EQ(fitted.fits[0].shift_ns, 1 * kMs);
    EXPECT_EQ(fitted.fits[0].error_ns, 1 * kMs);
  }
}

TEST(ClockBounds, DriftMakesThemWider) {
  std::vector<OwnClock> clocks = {known("a", 0, 16 * kMs), known("b", 0, 16 * kMs)};
  const std::vector<ClockBound> bounds = {{"a", "b", -1 * kMs, 1}, {"b", "a", kMs / 2, 1}};
  EXPECT_TRUE(fit_clocks(clocks, bounds).contradicts);
  clocks[1].drift_ns = kMs;
  EXPECT_FALSE(fit_clocks(clocks, bounds).contradicts);
}

TEST(ClockBounds, TakesAnyNumbers) {
  const std::vector<OwnClock> clocks = {known("a", INT64_MAX, INT64_MAX), known("b", INT64_MIN + 1, 0), unknown("c")};
  for (const std::int64_t most : {INT64_MIN + 1, INT64_MAX, std::int64_t{-1}, std::int64_t{1} << 55, std::int64_t{0}})
    for (const char* const to : {"b", "c", "a"}) {
      const std::vector<ClockBound> bounds = {{"a", to, most, 1}, {to, "c", -most, 1}, {"c", "a", most, 1}};
      EXPECT_EQ(fit_clocks(clocks, bounds).fits.size(), 3u);
    }
}

// What a review found: bounds that were made wider by the drift let a message be shown before it was sent.
TEST(ClockBounds, DriftDoesNotTurnTheOrderAround) {
  std::vector<OwnClock> clocks = {known("a", 0, kMs / 10), known("b", 0, 11 * kMs / 10)};
  clocks[1].drift_ns = kMs;
  const FittedClocks fitted = fit_clocks(clocks, std::vector<ClockBound>{{"a", "b", -9 * kMs / 10, 1}});
  EXPECT_FALSE(fitted.contradicts);
  EXPECT_LE(fitted.fits[0].shift_ns - fitted.fits[1].shift_ns, -9 * kMs / 10);
  EXPECT_GE(*fitted.apart_ns, kMs);
}

TEST(ClockBounds, AChainThatLeadsTooFarIsNotUsed) {
  std::vector<OwnClock> clocks;
  std::vector<ClockBound> bounds;
  for (int i = 0; i < 600; ++i) clocks.push_back(unknown(std::to_string(i)));
  for (int i = 0; i + 1 < 600; ++i) bounds.push_back({std::to_string(i), std::to_string(i + 1), -kFarthestNs, 1});
  const FittedClocks fitted = fit_clocks(clocks, bounds);
  EXPECT_TRUE(fitted.contradicts);
  for (const ClockFit& one : fitted.fits) EXPECT_EQ(one.shift_ns, 0);
}

// Clocks that are wrong by anything within what is known of them, messages with any delays: what is claimed holds.
TEST(ClockBounds, WhatIsClaimedHolds) {
  std::mt19937_64 random(20261129);
  const auto up_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random); };
  std::int64_t tightest = INT64_MAX;
  for (int round = 0; round < 300; ++round) {
    const auto hosts = static_cast<std::size_t>(2 + up_to(5));
    std::vector<OwnClock> clocks;
    std::vector<std::int64_t> truth;
    for (std::size_t i = 0; i < hosts; ++i) {
      truth.push_back(up_to(40 * kMs) - 20 * kMs);
      const std::int64_t off = up_to(16 * kMs) - 8 * kMs;
      clocks.push_back(up_to(4) == 0 ? unknown(std::to_string(i)) : known(std::to_string(i), truth[i] + off, 8 * kMs));
      clocks.back().drift_ns = up_to(kMs);
    }
    std::vector<ClockBound> bounds;
    for (std::size_t a = 0; a < hosts; ++a)
      for (std::size_t b = 0; b < hosts; ++b) {
        if (a == b || up_to(2) == 0) continue;
        std::int64_t fastest = INT64_MAX;
        for (int message = 0; message < 20; ++message) fastest = std::min(fastest, 100'000 + up_to(5 * kMs));
        bounds.push_back({std::to_string(a), std::to_string(b), fastest + truth[a] - truth[b], 20});
      }
    const FittedClocks fitted = fit_clocks(clocks, bounds);
    ASSERT_FALSE(fitted.contradicts) << round;
    for (std::size_t a = 0; a < hosts; ++a) {
      if (fitted.fits[a].error_ns) {
        EXPECT_LE(std::abs(fitted.fits[a].shift_ns - truth[a]), *fitted.fits[a].error_ns);
      }
      for (std::size_t b = 0; fitted.apart_ns && b < hosts; ++b) {
        const std::int64_t wrong = fitted.fits[a].shift_ns - fitted.fits[b].shift_ns - (truth[a] - truth[b]);
        EXPECT_LE(std::abs(wrong), *fitted.apart_ns);
      }
    }
    for (const ClockBound& one : bounds)
      EXPECT_LE(fitted.fits[std::stoul(one.sent)].shift_ns - fitted.fits[std::stoul(one.received)].shift_ns,
                one.most_ns);
    if (fitted.apart_ns) tightest = std::min(tightest, *fitted.apart_ns);
  }
  EXPECT_LT(tightest, 3 * kMs);
}

}  // namespace
}  // namespace kevt::fleet
