#include "tracefs-compat/fleet/overview.h"

#include <gtest/gtest.h>

namespace kevt::fleet {
namespace {

OverviewPicture picture_of(std::vector<std::uint64_t> one, std::vector<std::uint64_t> other) {
  const auto bars = static_cast<std::int64_t>(one.size());
  return {.span = {1000, 1000 + bars * 10}, .width_ns = 10, .records = 0, .lines = {{"a", one}, {"b", other}}};
}

TEST(NewestPart, HasAsManyWholeBarsAsFit) {
  const OverviewPicture picture = picture_of({5, 0, 3, 4, 0}, {5, 0, 3, 0, 0});
  EXPECT_EQ(newest_part(picture, 4), (TimeSpan{1030, 1040}));
  EXPECT_EQ(newest_part(picture, 9), (TimeSpan{1030, 1040}));
  EXPECT_EQ(newest_part(picture, 10), (TimeSpan{1020, 1040}));
  EXPECT_EQ(newest_part(picture, 19), (TimeSpan{1020, 1040}));
  EXPECT_EQ(newest_part(picture, 20), (TimeSpan{1000, 1040}));
  EXPECT_EQ(newest_part(picture, ~0ull), (TimeSpan{1000, 1040}));
}

TEST(NewestPart, IsEmptyWhereEvenTheNewestBarIsTooMuch) {
  EXPECT_EQ(newest_part(picture_of({0, 0, 8}, {0, 0, 1}), 8), TimeSpan{});
  EXPECT_EQ(newest_part(picture_of({0, 0}, {0, 0}), 8), TimeSpan{});
  EXPECT_EQ(newest_part({.span = {5, 5}, .width_ns = 1, .records = 0, .lines = {}}, 8), TimeSpan{});
}

}  // namespace
}  // namespace kevt::fleet
