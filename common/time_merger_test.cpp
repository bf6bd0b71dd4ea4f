#include "common/time_merger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace kevt {
namespace {

constexpr std::uint64_t kEverything = ~0ull;

TEST(TimeMerger, OrdersByTimeAcrossSources) {
  TimeMerger<std::string> items;
  items.add(10, "a10 ");
  items.add(30, "a30 ");
  items.add(20, "b20 ");
  std::string out;
  EXPECT_EQ(items.take(kEverything, [&](std::uint64_t, const std::string& item) { out += item; }), 3u);
  EXPECT_EQ(out, "a10 b20 a30 ");
}

TEST(TimeMerger, KeepsWhatAnotherSourceMayStillPrecede) {
  TimeMerger<std::string> items;
  std::string out;
  const auto append = [&](std::uint64_t time, const std::string& item) { out += item + std::to_string(time) + " "; };
  items.add(98, "a");
  items.add(104, "b");
  EXPECT_EQ(items.take(100, append), 1u);
  items.add(101, "a");
  EXPECT_EQ(items.take(200, append), 2u);
  EXPECT_EQ(out, "a98 a101 b104 ");
}

TEST(TimeMerger, StopsAtTheLimitAndKeepsTheOrderOfEqualTimes) {
  TimeMerger<int> items;
  for (int i = 1; i <= 3; ++i) items.add(5, i);
  std::vector<int> out;
  const auto append = [&](std::uint64_t, int item) { out.push_back(item); };
  EXPECT_EQ(items.take(5, 2, append), 2u);
  EXPECT_EQ(out, (std::vector{1, 2}));
  EXPECT_EQ(items.take(kEverything, 0, append), 0u);
  EXPECT_EQ(items.take(kEverything, append), 1u);
  EXPECT_EQ(out.back(), 3);
}

TEST(TimeMerger, TakesItemsThatCannotBeCopied) {
  TimeMerger<std::unique_ptr<int>> items;
  items.add(2, std::make_unique<int>(2));
  items.add(1, std::make_unique<int>(1));
  int sum = 0;
  items.take(kEverything,
             [&](std::uint64_t time, const std::unique_ptr<int>& item) { sum = sum * 10 + *item * int(time); });
  EXPECT_EQ(sum, 14);
}

}  // namespace
}  // namespace kevt
