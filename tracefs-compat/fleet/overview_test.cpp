#include "tracefs-compat/fleet/overview.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// Records at these moments, in bars of one step or more. Counts how often it is asked.
class Moments final : public Overview {
 public:
  Moments(std::vector<std::int64_t> at, std::int64_t step) : at_(std::move(at)), step_(step) {}
  TimeSpan all() const override { return {at_.front(), at_.back() + 1}; }
  std::int64_t zero_ns() const override { return 0; }
  Result<OverviewPicture> count(TimeSpan span, std::size_t bars, By) override {
    ++asked;
    OverviewPicture out;
    out.width_ns =
        step_ * std::max<std::int64_t>(1, (span.to_ns - span.from_ns) / static_cast<std::int64_t>(bars) / step_ + 1);
    out.span.from_ns = span.from_ns - span.from_ns % out.width_ns;
    const std::int64_t count = (span.to_ns - out.span.from_ns + out.width_ns - 1) / out.width_ns;
    out.span.to_ns = out.span.from_ns + count * out.width_ns;
    out.lines = {{"a", std::vector<std::uint64_t>(static_cast<std::size_t>(count))}};
    for (const std::int64_t at : at_)
      if (at >= out.span.from_ns && at < out.span.to_ns) {
        ++out.lines[0].hits[static_cast<std::size_t>((at - out.span.from_ns) / out.width_ns)];
        ++out.records;
      }
    return out;
  }
  int asked = 0;

 private:
  std::vector<std::int64_t> at_;
  std::int64_t step_;
};

const auto kNever = [] { return false; };

TEST(FindNewestPart, IsAllWhereThatIsNoMore) {
  Moments moments({1000, 2000, 3000}, 1);
  EXPECT_EQ(*find_newest_part(moments, 3, kNever), std::nullopt);
}

TEST(FindNewestPart, LooksIntoABarThatHasTooMany) {
  std::vector<std::int64_t> at = {1};
  for (std::int64_t i = 0; i < 100; ++i) at.push_back(1'000'000'000 + i);  // in one of the first bars
  Moments moments(at, 1);
  const auto part = find_newest_part(moments, 10, kNever);
  ASSERT_TRUE(part && *part);
  const auto is_in = [&](std::int64_t one) { return one >= (*part)->from_ns && one < (*part)->to_ns; };
  EXPECT_TRUE(is_in(at.back()));
  const auto count = std::ranges::count_if(at, is_in);
  EXPECT_TRUE(count > 0 && count <= 10) << count;
}

// As many recordings make steps longer, however short the time: it must not be asked for for ever.
TEST(FindNewestPart, EndsWhereTheShortestBarHasTooMany) {
  Moments moments(std::vector<std::int64_t>(100, 12'345), 10'000);
  const auto part = find_newest_part(moments, 10, kNever);
  ASSERT_TRUE(part && *part);
  EXPECT_EQ(**part, (TimeSpan{10'000, 20'000}));
  EXPECT_LT(moments.asked, 5);
}

TEST(FindNewestPart, EndsWhenItIsToldTo) {
  std::vector<std::int64_t> at(100, 1'000'000'000'000);
  at.insert(at.begin(), 1);
  Moments moments(at, 1);
  EXPECT_TRUE(find_newest_part(moments, 10, [] { return true; }));
  EXPECT_EQ(moments.asked, 1);
}

}  // namespace
}  // namespace kevt::fleet
