// A subset against the slow obvious way: rows in a vector.
#include "tracefs-compat/record/store/row_subset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "tracefs-compat/record/store/store_query.h"

namespace kevt::record {
namespace {

class RowSubsetTest : public ::testing::Test {
 protected:
  void add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ns_ += 1 + random_() % 100;
      const std::int32_t pid = 100 + static_cast<std::int32_t>(random_() % 10);
      std::uint8_t bytes[8] = {};
      std::memcpy(bytes + 4, &pid, 4);
      builder_.add({.event = &format_,
                    .time_ns = ns_,
                    .cpu = static_cast<std::uint32_t>(random_() % 3),
                    .pid = pid,
                    .comm = "task",
                    .bytes = bytes});
    }
  }
  static RowBits every(const StoreChunk& chunk, Row step) {
    RowBits rows = no_rows(chunk.rows());
    for (std::uint32_t row = 0; row < chunk.rows(); ++row)
      if ((chunk.first_row + row) % step == 0) set_bit(rows, row);
    return rows;
  }
  static RowSubset every(const RowSubset& before, const StoreView& view, std::size_t first, Row step) {
    std::vector<std::shared_ptr<const RowSubset::Part>> parts;
    for (std::size_t i = first; i < view.chunks().size(); ++i)
      parts.push_back(RowSubset::part_of(*view.chunks()[i], every(*view.chunks()[i], step)));
    return before.continued(first, std::move(parts));
  }

  EventFormat format_ = *parse_format("test",
                                      "name: e\nID: 9\nformat:\n"
                                      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                                      "print fmt: \"\"\n");
  std::mt19937_64 random_{5};
  std::uint64_t ns_ = 1000;
  StoreBuilder builder_;
};

TEST_F(RowSubsetTest, IsAListOfItsRows) {
  add(150'000);
  const StoreView view = builder_.view();
  std::vector<Row> some, chunks;
  for (Row row = 0; row < view.rows(); ++row) {
    if (random_() % 5 == 0 && row / 20'000 != 3) some.push_back(row);
    if (view.chunk_of(row) != 1) chunks.push_back(row);
  }
  for (const std::vector<Row>& rows : {some, chunks}) {
    const RowSubset subset(view, rows);
    ASSERT_EQ(subset.size(), rows.size());
    EXPECT_EQ(subset.seen(), view.rows());
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(subset[i], rows[i]);
    for (Row row = 0; row < view.rows() + 5; ++row) {
      const auto expected = std::ranges::lower_bound(rows, row);
      ASSERT_EQ(subset.lower_bound(row), static_cast<std::size_t>(expected - rows.begin())) << row;
      ASSERT_EQ(subset.contains(row), expected != rows.end() && *expected == row) << row;
    }
  }
  EXPECT_EQ(RowSubset().size(), 0u);
  EXPECT_EQ(RowSubset().lower_bound(7), 0u);
  EXPECT_FALSE(RowSubset().contains(0));
  EXPECT_EQ(RowSubset(view, {}).size(), 0u);
}

TEST_F(RowSubsetTest, LanesOfItHaveItsRowsAlone) {
  add(150'000);
  const StoreView view = builder_.view();
  for (const Row step : {1u, 3u, 7u}) {  // all, what is chosen of all rows, and what is sorted by itself
    const RowSubset subset = every(RowSubset(), view, 0, step);
    std::vector<std::uint64_t> counts(3);
    for (Row row = 0; row < view.rows(); row += step) ++counts[view.cpu(row)];
    for (std::uint32_t cpu = 0; cpu < 3; ++cpu) {
      const LaneKey lane{Axis::Cpu, cpu, &subset};
      EXPECT_EQ(subset.of(Axis::Cpu, cpu), counts[cpu]);
      EXPECT_EQ(count_lane(view, lane, 0, ~0ull), counts[cpu]);
      std::vector<std::uint32_t> pixels(100);
      count_by_pixel(view, lane, {view.first_ns(), 0, static_cast<double>(view.last_ns() - view.first_ns()) / 99, 100},
                     pixels);
      EXPECT_EQ(std::accumulate(pixels.begin(), pixels.end(), std::uint64_t{0}), counts[cpu]);
      Row row = 0;
      std::uint64_t walked = view.cpu(0) == cpu ? 1 : 0;
      while (const auto next = next_in_lane(view, lane, row)) {
        ASSERT_EQ(*next % step, 0u);
        ASSERT_EQ(view.cpu(*next), cpu);
        ASSERT_GT(*next, row);
        row = *next;
        ++walked;
      }
      EXPECT_EQ(walked, counts[cpu]);
      const auto previous = previous_in_lane(view, lane, row);
      ASSERT_TRUE(previous);
      EXPECT_LT(*previous, row);
      EXPECT_EQ(nearest_in_lane(view, lane, view.time_ns(row), 0), row);
    }
  }
}

TEST_F(RowSubsetTest, GoesOnWhileTheTraceGrowsAndLeavesEarlierOnesAlone) {
  add(100'000);
  const StoreView early = builder_.view();
  add(100'000);
  const StoreView late = builder_.view();
  for (const Row step : {1u, 3u}) {
    const auto early_size = (early.rows() + step - 1) / step, late_size = (late.rows() + step - 1) / step;
    const RowSubset before = every(RowSubset(), early, 0, step);
    EXPECT_EQ(before.size(), early_size);
    const RowSubset after = every(before, late, late.chunk_of(before.seen()), step);
    EXPECT_TRUE(after.is_continued(before));
    EXPECT_FALSE(after.is_continued(RowSubset()));
    EXPECT_EQ(before.size(), early_size);
    EXPECT_EQ(after.size(), late_size);
    EXPECT_EQ(after[before.size()], early_size * step);  // what is new comes behind what was there
    std::uint64_t sum = 0;
    for (std::uint32_t task = 0; task < 10; ++task) sum += after.of(Axis::Task, task);
    EXPECT_EQ(sum, after.size());
    // A view from before, which has fewer records in its last chunk; and a subset from before, which has.
    const LaneKey all{.only = &after};
    EXPECT_EQ(count_lane(early, all, 0, ~0ull), before.size());
    EXPECT_FALSE(next_in_lane(early, all, early.rows() - 1));
    EXPECT_EQ(count_lane(late, {.only = &before}, 0, ~0ull), before.size());
    EXPECT_FALSE(next_in_lane(late, {.only = &before}, early.rows() - 1));
    for (std::uint32_t cpu = 0; cpu < 3; ++cpu) {
      const LaneKey old{Axis::Cpu, cpu, &before};
      EXPECT_EQ(count_lane(late, old, 0, ~0ull), before.of(Axis::Cpu, cpu));
      EXPECT_EQ(count_lane(early, {Axis::Cpu, cpu, &after}, 0, ~0ull), before.of(Axis::Cpu, cpu));
    }
  }
}

}  // namespace
}  // namespace kevt::record
