// What ChunkSearch finds beside the lines themselves.
#include "tracefs-compat/record/store/chunk_search.h"

#include "tracefs-compat/record/print/random_records_testing.h"

namespace kevt::record {
namespace {

using test::below;
using test::one_in;

class ChunkSearchTest : public RandomRecords {};

TEST_F(ChunkSearchTest, FindsWhatTheLinesHave) {
  const std::uint64_t seed = RandomRecords::seed();
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  test::Random random(seed);
  StoreBuilder builder;
  std::uint64_t time = 999'998'700'000;  // a few microseconds before a second
  for (int i = 0; i < 400; ++i) {
    Made made = record(random);
    made.record.comm = made.comm, made.record.bytes = made.bytes;
    made.record.time_ns = time += below(random, 40'000);
    ASSERT_TRUE(builder.add(made.record));
  }
  const StoreView view = builder.view();
  TraceLines lines(metadata_);
  std::vector<std::string> printed;
  for (Row row = 0; row < view.rows(); ++row) {
    lines.append(view.typed(row), printed.emplace_back());
    printed.back().pop_back();
  }
  const std::vector<std::uint8_t> all_events(view.names().events.size(), 1);
  std::size_t hits = 0, unsure = 0, asked = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = text_near(printed[below(random, printed.size())], random);
    if (one_in(random, 4)) text = std::to_string(below(random, one_in(random, 2) ? 1000 : 100'000));
    if (!LineSearch::takes(text)) continue;
    const bool minds_case = one_in(random, 2);
    ChunkSearch search(metadata_, text, minds_case);
    for (const auto& chunk : view.chunks()) {
      RowBits among = no_rows(chunk->rows());
      for (std::uint32_t row = 0; row < chunk->rows(); ++row)
        if (!one_in(random, 5)) set_bit(among, row);
      const auto found = search.find(view, *chunk, among, all_events);
      for (std::uint32_t row = 0; row < chunk->rows(); ++row) {
        const std::string& line = printed[chunk->first_row + row];
        const bool there = minds_case ? line.contains(text) : small(line).contains(small(text));
        const bool is_found = has_bit(found.rows, row), is_unsure = has_bit(found.unsure, row);
        ASSERT_FALSE(is_found && is_unsure);
        if (!has_bit(among, row)) {
          ASSERT_FALSE(is_found || is_unsure);
          continue;
        }
        if (!is_unsure) {
          ASSERT_EQ(is_found, there) << text << (minds_case ? " (case)" : "") << "\n" << line;
        }
        ++asked;
        hits += there ? 1 : 0;
        unsure += is_unsure ? 1 : 0;
      }
    }
  }
  EXPECT_GT(hits, asked / 100);
  EXPECT_LT(unsure, asked / 20);
}

// One search over chunks of many blocks; what it knows of the first one holds for the second. Of twelve different
// records most fields have few values in a chunk, of five hundred few have.
class ChunksSearchTest : public ChunkSearchTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(DifferentRecords, ChunksSearchTest, testing::Values(12, 500));

TEST_P(ChunksSearchTest, GoesOnAcrossBlocksAndChunks) {
  const std::uint64_t seed = RandomRecords::seed();
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  test::Random random(seed);
  StoreBuilder builder;
  std::vector<Made> made;
  for (int i = 0; i < GetParam(); ++i) made.push_back(record(random));
  std::uint64_t time = 999'000'000'000;
  for (std::uint32_t i = 0; i < kChunkRows + 3 * kBlockRows / 2; ++i) {
    Made& one = made[below(random, made.size())];
    one.record.comm = one.comm, one.record.bytes = one.bytes;
    one.record.time_ns = time += below(random, 40'000);
    ASSERT_TRUE(builder.add(one.record));
  }
  const StoreView view = builder.view();
  ASSERT_GT(view.chunks().size(), 1u);
  TraceLines lines(metadata_);
  std::vector<std::string> printed;
  for (Row row = 0; row < view.rows(); ++row) lines.append(view.typed(row), printed.emplace_back());
  const std::vector<std::uint8_t> all_events(view.names().events.size(), 1);
  for (int round = 0; round < 12; ++round) {
    const std::string& line = printed[below(random, printed.size())];
    std::string text = round % 3 == 0 ? std::to_string(below(random, 100)) : text_near(line, random);
    if (!LineSearch::takes(text)) continue;
    ChunkSearch search(metadata_, text, true);
    const bool is_whole = one_in(random, 2);
    for (const auto& chunk : view.chunks()) {
      RowBits among;
      if (!is_whole) among = no_rows(chunk->rows());
      for (std::uint32_t row = 0; !is_whole && row < chunk->rows(); ++row)
        if (row / kBlockRows % 3 != 1 && !one_in(random, 5)) set_bit(among, row);
      search.set_metadata(metadata_);
      const auto found = search.find(view, *chunk, among, all_events);
      for (std::uint32_t row = 0; row < chunk->rows(); ++row) {
        const std::string& of_row = printed[chunk->first_row + row];
        const bool is_asked = is_whole || has_bit(among, row);
        const bool there = is_asked && std::string_view(of_row).substr(0, of_row.size() - 1).contains(text);
        if (!has_bit(found.unsure, row)) {
          ASSERT_EQ(has_bit(found.rows, row), there) << text << "\n" << of_row;
        } else {
          ASSERT_TRUE(is_asked && !has_bit(found.rows, row)) << text << "\n" << of_row;
        }
      }
    }
  }
}

// All records of a full chunk have one address, which only one of two processes calls so.
TEST_F(ChunkSearchTest, AnAddressIsAskedAboutForEachProcess) {
  const EventFormat& event = metadata_.formats.all()[0];
  Bytes bytes(event.fixed_size());
  for (const Field& field : event.fields)
    if (field.role != PlaceRole::None) store<std::uint64_t>(bytes, field.offset, 0x1000);
  StoreBuilder builder;
  for (std::uint32_t i = 0; i <= kChunkRows; ++i)
    ASSERT_TRUE(builder.add(
        {.event = &event, .time_ns = i, .pid = 3000 + static_cast<int>(i % 2), .comm = "bash", .bytes = bytes}));
  const StoreView view = builder.view();
  for (const auto& [text, pid] : {std::pair("openat64", 3000), std::pair("elsewhere", 3001)}) {
    ChunkSearch search(metadata_, text, true);
    const RowBits found = search.find(view, *view.chunks()[0], {}, {1}).rows;
    for (std::uint32_t row = 0; row < kChunkRows; ++row)
      ASSERT_EQ(has_bit(found, row), view.names().tasks[view.task(row)].pid == pid) << text << " " << row;
  }
}

TEST_F(ChunkSearchTest, EventsThatAreNotAskedForAreLeftOut) {
  test::Random random(3);
  StoreBuilder builder;
  for (int i = 0; i < 50; ++i) {
    Made made = record(random);
    made.record.comm = made.comm, made.record.bytes = made.bytes;
    ASSERT_TRUE(builder.add(made.record));
  }
  const StoreView view = builder.view();
  ChunkSearch search(metadata_, "-300", true);  // every task
  const RowBits among(1, ~std::uint64_t{0});
  std::vector<std::uint8_t> asked(view.names().events.size(), 1);
  EXPECT_EQ(search.find(view, *view.chunks()[0], among, asked).rows[0], (std::uint64_t{1} << 50) - 1);
  asked.assign(asked.size(), 0);
  EXPECT_EQ(search.find(view, *view.chunks()[0], among, asked).rows[0], 0u);
}

}  // namespace
}  // namespace kevt::record
