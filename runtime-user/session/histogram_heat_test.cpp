#include "runtime-user/session/histogram_heat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::session {
namespace {

using engine::HistSnapshot;
using model::HistModifier;
using testing::HasSubstr;
using testing::Not;

// By length in powers of two, and by the name `by`.
HistSnapshot lengths(std::vector<std::pair<std::uint64_t, std::uint64_t>> hits_by_power, std::string by = "") {
  HistSnapshot made{.event = "g:wrote", .trigger = {}, .rows = {}, .hits = 0, .dropped = 0};
  model::Histogram& histogram = made.trigger.histogram;
  histogram.keys = {{.name = "len", .modifier = HistModifier::Log2}};
  if (!by.empty()) histogram.keys.push_back({.name = "comm", .bytes = 16, .is_string = true});
  for (const auto& [power, hits] : hits_by_power) {
    made.rows.push_back({.keys = {{.number = power}}, .hits = hits, .values = {}});
    if (!by.empty()) made.rows.back().keys.push_back({.number = 0, .text = by, .frames = {}});
    made.hits += hits;
  }
  return made;
}

TEST(HistogramHeat, ALineForEachReading) {
  HistogramHeat heat;
  EXPECT_EQ(heat.text(lengths({{2, 1}, {4, 70}, {5, 29}}), 1, {0, 1}),
            "# g:wrote: hits by len.log2; a cell is · some, ░ 1 %, ▒ 5 %, ▓ 10 %, █ 25 % of the line's hits\n"
            "                           |4 16|         hits        p50        p99        max\n"
            "     0.000 s      1.000 s  |░ ██|          100         16         32         32\n");
  // The same axis, and no heading again; what has fewer buckets still stands under it.
  EXPECT_EQ(heat.text(lengths({{3, 2}}), 1, {1, 2}),
            "     1.000 s      2.000 s  | █  |            2          8          8          8\n");
  // A greater number makes the axis longer.
  const std::string longer = heat.text(lengths({{3, 2}, {12, 1'000'000}}), 1, {2, 3});
  EXPECT_THAT(longer, HasSubstr("|4 16 128   |"));
  EXPECT_THAT(longer, HasSubstr("| ·        █|"));
  EXPECT_EQ(heat.text(lengths({}), 1, {3, 4}), "     3.000 s      4.000 s  no hits\n");
  // Another histogram has its own heading, and so has the first one when it comes again.
  EXPECT_THAT(heat.text(lengths({{3, 2}}), 2, {3, 4}), HasSubstr("\n# g:wrote: hits by len.log2; "));
  EXPECT_THAT(heat.text(lengths({{3, 2}}), 1, {4, 5}), HasSubstr("|4 16 128   |"));
}

TEST(HistogramHeat, OtherKeysStandInFront) {
  HistogramHeat heat;
  HistSnapshot both = lengths({{3, 2}}, "cat\n\x1b[2J");
  HistSnapshot other = lengths({{3, 20}}, "größer");
  both.rows.push_back(other.rows[0]);
  const std::string text = heat.text(both, 1, {0, 1});
  EXPECT_THAT(text, HasSubstr("1.000 s  comm=größer         |█|           20"));
  EXPECT_THAT(text, HasSubstr("1.000 s  comm=cat\\012\\033[2J |█|            2"));
  EXPECT_LT(text.find("größer"), text.find("cat"));  // most hits first
}

TEST(HistogramHeat, LongKeysAreCutAndStayApart) {
  HistogramHeat heat;
  const std::string long_one(60, 'x');
  HistSnapshot both = lengths({{3, 2}}, long_one + "1");
  both.rows.push_back(lengths({{3, 20}}, long_one + "2").rows[0]);
  const std::string text = heat.text(both, 1, {0, 1});
  EXPECT_THAT(text, HasSubstr("comm=" + std::string(34, 'x') + "… |█|           20 "));
  EXPECT_THAT(text, HasSubstr("comm=" + std::string(34, 'x') + "… |█|            2 "));
  EXPECT_THAT(heat.text(lengths({{3, 1}}, std::string(35, 'y')), 2, {0, 1}),
              HasSubstr("comm=" + std::string(35, 'y') + " |"));
}

TEST(HistogramHeat, WithoutBucketsTheLargestEntries) {
  HistSnapshot made{.event = "g:e", .trigger = {}, .rows = {}, .hits = 0, .dropped = 0};
  made.trigger.histogram.keys = {{.name = "fd"}};
  for (std::uint64_t fd = 0; fd < 9; ++fd) {
    made.rows.push_back({.keys = {{.number = fd}}, .hits = fd + 1, .values = {}});
    made.hits += fd + 1;
  }
  HistogramHeat heat;
  EXPECT_EQ(heat.text(made, 1, {0, 1}),
            "# g:e: hits by fd; the most frequent of each time\n"
            "     0.000 s      1.000 s            45  fd=8 9 | fd=7 8 | fd=6 7 | fd=5 6 | fd=4 5 | fd=3 4 | 3 more\n");
}

TEST(HistogramHeat, TheWholeRangeOfNumbersHasRoom) {
  HistogramHeat heat;
  HistSnapshot made{.event = "g:e", .trigger = {}, .rows = {}, .hits = 3, .dropped = 0};
  made.trigger.histogram.keys = {{.name = "n", .modifier = HistModifier::LogLinear}};
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1} << 30, model::log_linear_of(~std::uint64_t{0})})
    made.rows.push_back({.keys = {{.number = number}}, .hits = 1, .values = {}});
  const std::string text = heat.text(made, 1, {0, 1});
  EXPECT_THAT(text, HasSubstr("18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("█"));
}

}  // namespace
}  // namespace kevt::session
