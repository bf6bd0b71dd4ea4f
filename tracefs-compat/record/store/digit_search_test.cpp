// The times that have digits, beside what a line prints of each.
#include "tracefs-compat/record/store/digit_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tracefs-compat/record/print/random_records_testing.h"
#include "tracefs-compat/record/store/chunk_builder.h"

namespace kevt::record {
namespace {

using test::below;

class TimeDigitsTest : public RandomRecords {};

TEST_F(TimeDigitsTest, AreThoseThatThePrintedTimeHas) {
  const std::uint64_t seed = RandomRecords::seed();
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  test::Random random(seed);
  std::size_t hits = 0;
  for (int round = 0; round < 60; ++round) {
    constexpr std::uint64_t kSteps[] = {400, 3'000, 90'000, 5'000'000};
    const std::uint64_t step = kSteps[below(random, std::size(kSteps))];
    const std::uint64_t begins[] = {0, 12'999'999'000'000, below(random, 1ull << 40), ~std::uint64_t{0} - 400 * step};
    std::uint64_t time = begins[below(random, std::size(begins))];
    ChunkBuilder builder;
    builder.start(0);
    for (int i = 0; i < 800; ++i) {
      const ChunkBuilder::Record record{.time_ns = time, .bytes = {}};
      if (!builder.has_room(record)) break;
      builder.add(record);
      time += std::min(below(random, step), ~time);
    }
    const auto chunk = builder.freeze([](Row) { return 0; });
    const std::uint64_t wanted = below(random, 1ull << below(random, 24));
    const std::string digits = fmt::format("{:0{}}", wanted, 1 + below(random, 3));
    const RowBits found = TimeDigits(digits).rows_in(*chunk);
    for (std::uint32_t row = 0; row < chunk->rows(); ++row) {
      const std::uint64_t micros = (chunk->time_ns(row) + 500) / 1000;
      const std::string printed = fmt::format("{}.{:06}", micros / 1'000'000, micros % 1'000'000);
      ASSERT_EQ(has_bit(found, row), printed.contains(digits)) << printed << " " << digits;
      hits += has_bit(found, row) ? 1 : 0;
    }
  }
  EXPECT_GT(hits, 1000u);
}

}  // namespace
}  // namespace kevt::record
