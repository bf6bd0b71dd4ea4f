// The store against the slow obvious way: records in a vector, asked one by one.
#include "tracefs-compat/record/store/store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "tracefs-compat/record/store/store_field.h"
#include "tracefs-compat/record/store/store_query.h"

namespace kevt::record {
namespace {

constexpr std::string_view kCommon =
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

EventFormat make_format(std::string_view name, int id, std::string_view address_field) {
  std::string text = "name: " + std::string(name) + "\nID: " + std::to_string(id) + "\n" + std::string(kCommon);
  text += "\tfield:unsigned long " + std::string(address_field) + ";\toffset:8;\tsize:8;\tsigned:0;\n";
  text += "\tfield:s32 value;\toffset:16;\tsize:4;\tsigned:1;\n\nprint fmt: \"(%lx) value=%d\", REC->" +
          std::string(address_field) + ", REC->value\n";
  return *parse_format("test", text);
}

struct Made {
  std::uint64_t ns;
  std::uint32_t cpu;
  std::int32_t pid;
  bool is_return;
  std::int32_t value;
};

class StoreTest : public ::testing::Test {
 protected:
  bool add(const Made& made, std::uint64_t function = 0x1000, std::uint64_t lost = 0) {
    std::vector<std::uint8_t> bytes(20);
    std::memcpy(bytes.data() + 4, &made.pid, 4);
    std::memcpy(bytes.data() + 8, &function, 8);
    std::memcpy(bytes.data() + 16, &made.value, 4);
    return builder_.add({.event = made.is_return ? &return_ : &entry_,
                         .time_ns = made.ns,
                         .cpu = made.cpu,
                         .pid = made.pid,
                         .comm = "task",
                         .bytes = bytes,
                         .lost_before = lost});
  }
  std::vector<Made> add_random(std::size_t count, std::uint64_t longest_step) {
    std::mt19937_64 random(7);
    std::vector<Made> all;
    std::uint64_t ns = 5'000'000'000;
    for (std::size_t i = 0; i < count; ++i) {
      ns += random() % longest_step;
      all.push_back({ns, static_cast<std::uint32_t>(random() % 5), static_cast<std::int32_t>(100 + random() % 20),
                     random() % 2 == 0, static_cast<std::int32_t>(random() % 1000) - 500});
      add(all.back());
    }
    return all;
  }

  EventFormat entry_ = make_format("work", 1500, "__probe_ip");
  EventFormat return_ = make_format("work_done", 1501, "__probe_func");
  StoreBuilder builder_;
};

TEST_F(StoreTest, GivesBackWhatWasPutIn) {
  const auto all = add_random(200'000, 100);
  const StoreView view = builder_.view();
  ASSERT_EQ(view.rows(), all.size());
  ASSERT_GE(view.chunks().size(), 3u);
  for (Row row = 0; row < view.rows(); row += 7) {
    const TypedRecord record = view.typed(row);
    ASSERT_EQ(record.time_ns, all[row].ns);
    ASSERT_EQ(record.cpu, all[row].cpu);
    ASSERT_EQ(record.pid, all[row].pid);
    ASSERT_EQ(record.event->name, all[row].is_return ? "work_done" : "work");
    ASSERT_EQ(static_cast<std::int32_t>(value_of(*record.event->find("value"), record.bytes).number), all[row].value);
  }
}

TEST_F(StoreTest, IndexTakesAtMost24BytesPerRecord) {
  add_random(400'000, 100);
  const StoreView view = builder_.view();
  EXPECT_LE(static_cast<double>(view.size().index) / view.rows(), 24.0);
}

// Two stores of the same records, one of which may keep 2 MB in memory, are the same to every reader.
TEST_F(StoreTest, WhatDoesNotFitIntoMemoryIsReadFromAFile) {
  StoreBuilder small({.memory_bytes = 2 << 20, .folder = SpillFile::usual_folder()});
  std::mt19937_64 random(11);
  std::uint64_t ns = 1'000'000;
  std::vector<std::vector<std::uint64_t>> open(20);
  for (std::size_t i = 0; i < 700'000; ++i) {
    ns += random() % 1000;
    const auto task = random() % 20;
    // Calls that last for several chunks have their return's number written into a chunk that is in the file.
    const bool is_return = !open[task].empty() && random() % 3 == 0;
    const std::uint64_t function = is_return ? open[task].back() : 0x1000 * (1 + random() % 4);
    if (is_return) open[task].pop_back();
    if (!is_return && open[task].size() < 8) open[task].push_back(function);
    const std::string bytes_tail(random() % 40, 'x');
    std::vector<std::uint8_t> bytes(20 + bytes_tail.size());
    std::memcpy(bytes.data() + 8, &function, 8);
    const TypedRecord record{.event = is_return ? &return_ : &entry_,
                             .time_ns = ns,
                             .cpu = static_cast<std::uint32_t>(task % 5),
                             .pid = static_cast<std::int32_t>(100 + task),
                             .comm = "task",
                             .bytes = bytes};
    ASSERT_TRUE(builder_.add(record));
    ASSERT_TRUE(small.add(record));
    if (i == 300'000) small.view();
  }
  const StoreView all = builder_.view(), view = small.view();
  EXPECT_EQ(small.file_problem(), "");
  EXPECT_GT(small.file_bytes(), 20u << 20);
  EXPECT_LT(view.size().in_memory, 4u << 20);
  EXPECT_EQ(view.size().payload, all.size().payload);
  ASSERT_EQ(view.rows(), all.rows());
  for (Row row = 0; row < all.rows(); ++row) {
    ASSERT_EQ(view.match(row), all.match(row)) << row;
    ASSERT_EQ(view.depth(row), all.depth(row));
    ASSERT_EQ(view.time_ns(row), all.time_ns(row));
    const auto a = view.typed(row), b = all.typed(row);
    ASSERT_TRUE(std::ranges::equal(a.bytes, b.bytes));
    ASSERT_EQ(a.pid, b.pid);
  }
  const double span = static_cast<double>(all.last_ns() - all.first_ns());
  for (const LaneKey lane : {LaneKey{}, LaneKey{Axis::Cpu, 3}, LaneKey{Axis::Task, 7}, LaneKey{Axis::Event, 1}}) {
    const PixelRow pixels{all.first_ns(), span * 0.2, span / 900, 700};
    std::vector<std::uint32_t> counts(700), expected(700);
    count_by_pixel(view, lane, pixels, counts);
    count_by_pixel(all, lane, pixels, expected);
    EXPECT_EQ(counts, expected);
  }
  EXPECT_EQ(slices_of(view, 3, all.first_ns(), all.last_ns(), 0).size(),
            slices_of(all, 3, all.first_ns(), all.last_ns(), 0).size());
}

TEST_F(StoreTest, AViewOutlivesTheStoreAndItsFile) {
  StoreView view;
  {
    StoreBuilder small({.memory_bytes = 0, .folder = SpillFile::usual_folder()});
    std::vector<std::uint8_t> bytes(20, 7);
    for (std::uint64_t i = 0; i < 200'000; ++i)
      small.add({.event = &entry_, .time_ns = i, .pid = 1, .comm = "task", .bytes = bytes});
    view = small.view();
    ASSERT_TRUE(view.chunks().front()->is_in_file);
  }
  for (Row row = 0; row < view.rows(); row += 501) {
    ASSERT_EQ(view.time_ns(row), row);
    ASSERT_EQ(view.bytes(row)[19], 7);
  }
}

TEST_F(StoreTest, WithoutAFileRecordsStayInMemoryAsFarAsTheyMay) {
  StoreBuilder builder({.memory_bytes = 1 << 20, .most_memory_bytes = 8 << 20, .folder = "/proc/no-such-folder"});
  std::vector<std::uint8_t> bytes(20);
  std::uint64_t added = 0;
  while (added < 1'000'000 && builder.add({.event = &entry_, .time_ns = added, .pid = 1, .bytes = bytes})) ++added;
  EXPECT_NE(builder.file_problem().find("/proc/no-such-folder"), std::string::npos) << builder.file_problem();
  EXPECT_GT(added, 100'000u);
  EXPECT_LT(added, 300'000u);
  EXPECT_EQ(builder.view().rows(), added);
}

TEST_F(StoreTest, RecordsOfManyBytesMakeChunksOfFewRecords) {
  std::vector<std::uint8_t> bytes(4000);
  for (std::uint64_t i = 0; i < 10'000; ++i)
    builder_.add({.event = &entry_, .time_ns = i, .pid = 1, .comm = "task", .bytes = bytes});
  const StoreView view = builder_.view();
  EXPECT_GE(view.chunks().size(), 3u);
  for (const auto& chunk : view.chunks()) EXPECT_LE(chunk->payload.size(), kChunkPayload + kMaxStoredBytes);
}

TEST_F(StoreTest, LongPausesBeginNewChunks) {
  const auto all = add_random(500, 3'000'000'000);
  const StoreView view = builder_.view();
  EXPECT_GT(view.chunks().size(), 10u);
  for (Row row = 0; row < view.rows(); ++row) ASSERT_EQ(view.time_ns(row), all[row].ns);
  for (Row row = 1; row < view.rows(); row += 13) {
    const Row found = view.lower_bound(all[row].ns);
    EXPECT_EQ(view.time_ns(found), all[row].ns);
  }
}

TEST_F(StoreTest, CountsByPixelAreExactAtEveryZoom) {
  const auto all = add_random(150'000, 100);
  const StoreView view = builder_.view();
  const double span = static_cast<double>(view.last_ns() - view.first_ns());
  for (const double zoom : {1.0, 7.0, 300.0, 40'000.0}) {
    const PixelRow row{view.first_ns(), span * 0.1, span / zoom / 500, 500};
    for (const LaneKey lane : {LaneKey{}, LaneKey{Axis::Cpu, 3}, LaneKey{Axis::Task, 2}, LaneKey{Axis::Event, 1}}) {
      std::vector<std::uint32_t> counts(row.pixels), expected(row.pixels);
      count_by_pixel(view, lane, row, counts);
      for (Row r = 0; r < view.rows(); ++r) {
        const double pixel = std::floor(row.pixel_of(all[r].ns));
        const bool is_in = !lane.axis || (*lane.axis == Axis::Cpu    ? view.cpu(r)
                                          : *lane.axis == Axis::Task ? view.task(r)
                                                                     : view.event(r)) == lane.id;
        if (is_in && pixel >= 0 && pixel < row.pixels) ++expected[static_cast<std::size_t>(pixel)];
      }
      std::uint64_t off = 0;  // a border may fall on either side of a record by rounding
      for (std::size_t i = 0; i < counts.size(); ++i)
        off += counts[i] > expected[i] ? counts[i] - expected[i] : expected[i] - counts[i];
      EXPECT_LE(off, 2u) << "zoom " << zoom;
    }
  }
}

TEST_F(StoreTest, NeighboursInLanes) {
  const auto all = add_random(140'000, 100);
  const StoreView view = builder_.view();
  const LaneKey lane{Axis::Cpu, 2};
  for (Row row = 60'000; row < 70'000; row += 331) {
    Row expected = row + 1;
    while (all[expected].cpu != 2) ++expected;
    EXPECT_EQ(next_in_lane(view, lane, row), expected);
    expected = row - 1;
    while (all[expected].cpu != 2) --expected;
    EXPECT_EQ(previous_in_lane(view, lane, row), expected);
    const auto near = nearest_in_lane(view, lane, all[row].ns, 10'000);
    ASSERT_TRUE(near);
    EXPECT_EQ(all[*near].cpu, 2u);
  }
  EXPECT_FALSE(previous_in_lane(view, lane, 0));
  EXPECT_FALSE(next_in_lane(view, lane, view.rows() - 1));
  EXPECT_TRUE(nearest_in_lane(view, LaneKey{}, 0, ~0ull).has_value());
  EXPECT_FALSE(nearest_in_lane(view, LaneKey{}, 0, 5).has_value());
  EXPECT_FALSE(nearest_in_lane(StoreView(), lane, 5, 5).has_value());
}

TEST_F(StoreTest, EntriesAndReturnsAreSlices) {
  // f [ g [ ] g [ ] ] in one task, an f in another one between.
  add({100, 0, 1, false, 0}, 0x1000);
  add({110, 0, 1, false, 0}, 0x2000);
  add({115, 1, 2, false, 0}, 0x1000);
  add({120, 0, 1, true, 0}, 0x2000);
  add({130, 0, 1, false, 0}, 0x2000);
  add({140, 0, 1, true, 0}, 0x2000);
  add({150, 0, 1, true, 0}, 0x1000);
  const StoreView view = builder_.view();
  EXPECT_EQ(view.match(0), 6u);
  EXPECT_EQ(view.match(6), 0u);
  EXPECT_EQ(view.match(1), 3u);
  EXPECT_EQ(view.match(4), 5u);
  EXPECT_EQ(view.match(2), kNoRow);
  EXPECT_EQ(view.depth(1), 1u);
  EXPECT_EQ(view.depth(5), 1u);
  const auto slices = slices_of(view, 0, 0, 1000, 0);
  EXPECT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices_of(view, 0, 0, 1000, 40).size(), 1u);
  EXPECT_EQ(slices_of(view, 0, 125, 128, 0).size(), 1u);
}

TEST_F(StoreTest, AMissedReturnDoesNotShiftTheOthers) {
  for (int i = 0; i < 3; ++i) {  // both keys are known to be answered
    add({static_cast<std::uint64_t>(10 + i * 4), 0, 1, false, 0}, 0x1000);
    add({static_cast<std::uint64_t>(12 + i * 4), 0, 1, true, 0}, 0x1000);
  }
  add({100, 0, 1, false, 0}, 0x1000);
  add({110, 0, 1, false, 0}, 0x2000);  // its return is missed
  add({120, 0, 1, true, 0}, 0x1000);
  add({130, 0, 1, false, 0}, 0x1000);
  add({140, 0, 1, true, 0}, 0x1000);
  const StoreView view = builder_.view();
  EXPECT_EQ(view.match(6), 8u);
  EXPECT_EQ(view.match(7), kNoRow);
  EXPECT_EQ(view.match(9), 10u);
  EXPECT_EQ(view.depth(9), 0u);
}

TEST_F(StoreTest, APlaceThatIsNeverLeftDoesNotDeepenTheStack) {
  for (std::uint64_t i = 0; i < 40; ++i) add({10 + i, 0, 1, false, 0}, 0x3000);
  add({100, 0, 1, false, 0}, 0x1000);
  add({110, 0, 1, true, 0}, 0x1000);
  EXPECT_EQ(builder_.view().depth(40), 0u);
}

TEST_F(StoreTest, ASliceOverManyChunksIsFoundFromItsMiddle) {
  add({1, 0, 1, false, 0}, 0x1000);
  for (std::uint64_t i = 0; i < 200'000; ++i) add({100 + i, 1, 2, i % 2 == 1, 0}, 0x2000);
  add({300'000, 0, 1, true, 0}, 0x1000);
  const StoreView view = builder_.view();
  EXPECT_EQ(view.match(0), 200'001u);
  const auto slices = slices_of(view, 0, 100'000, 100'010, 1000);
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].begin, 0u);
  EXPECT_EQ(slices_of(view, 1, 0, 300'000, 1).size(), 100'000u);
}

TEST_F(StoreTest, AViewStaysAsItWasWhileMoreArrive) {
  add({10, 0, 1, false, 0});
  const StoreView before = builder_.view();
  add({20, 0, 1, true, 0});
  EXPECT_EQ(before.rows(), 1u);
  EXPECT_EQ(before.match(0), kNoRow);
  EXPECT_EQ(builder_.view().match(0), 1u);
}

TEST_F(StoreTest, WhatWasLostIsAGapOfItsCpu) {
  add({10, 2, 1, false, 0});
  add({50, 2, 1, false, 0}, 0x1000, 17);
  const StoreView view = builder_.view();
  ASSERT_EQ(view.names().gaps.size(), 1u);
  EXPECT_EQ(view.names().gaps[0].count, 17u);
  EXPECT_EQ(view.names().gaps[0].from_ns, 10u);
  EXPECT_EQ(view.names().gaps[0].to_ns, 50u);
}

TEST_F(StoreTest, LateRecordsAreMovedAndCounted) {
  add({100, 0, 1, false, 0});
  add({90, 1, 2, false, 0});
  EXPECT_EQ(builder_.view().time_ns(1), 100u);
  EXPECT_EQ(builder_.moved_records(), 1u);
}

TEST_F(StoreTest, FieldPyramidsAgreeWithTheValues) {
  const auto all = add_random(90'000, 100);
  const StoreView view = builder_.view();
  const std::uint32_t returns = view.names().events[0]->name == "work_done" ? 0 : 1;
  const std::atomic<bool> cancelled = false;
  const FieldPyramid pyramid(view, returns, "value", cancelled);
  std::vector<double> values;
  for (const Made& made : all)
    if (made.is_return) values.push_back(made.value);
  ASSERT_EQ(pyramid.size(), values.size());
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const std::size_t begin = random() % values.size();
    const std::size_t end = begin + random() % (values.size() - begin + 1);
    const FieldRange range = pyramid.range(begin, end);
    ASSERT_EQ(range.is_empty, begin == end);
    if (begin == end) continue;
    const auto [least, greatest] =
        std::minmax_element(values.begin() + static_cast<long>(begin), values.begin() + static_cast<long>(end));
    ASSERT_EQ(range.least, *least);
    ASSERT_EQ(range.greatest, *greatest);
  }
  EXPECT_EQ(FieldPyramid(view, returns, "nothing", cancelled).size(), 0u);
  EXPECT_EQ(FieldPyramid(view, 77, "value", cancelled).size(), 0u);
}

TEST(Measure, Percentiles) {
  std::vector<double> values;
  for (int i = 100; i > 0; --i) values.push_back(i);
  const Measured measured = measure(values);
  EXPECT_EQ(measured.count, 100u);
  EXPECT_EQ(measured.least, 1);
  EXPECT_EQ(measured.greatest, 100);
  EXPECT_EQ(measured.p50, 51);
  EXPECT_EQ(measured.p99, 100);
  EXPECT_EQ(measure({}).count, 0u);
}

// Values of `value` are 3, 1, 4, 1, …; of an address 0x1000 in entries, more than are kept in returns.
TEST_F(StoreTest, ValuesAreKnownOfFieldsThatHaveFew) {
  const auto value_of = [](std::uint32_t i) { return "31415"[i % 5] - '0'; };
  for (std::uint32_t i = 0; i <= kChunkRows; ++i) {
    const bool is_return = i % 2 != 0;
    const std::uint64_t address = 0x1000 + (is_return ? i % 32 : 0);
    ASSERT_TRUE(add({1000 + i, 0, 100, is_return, value_of(i)}, address));
  }
  const StoreView view = builder_.view();
  ASSERT_EQ(view.chunks().size(), 2u);
  const StoreChunk& full = *view.chunks()[0];
  for (const std::uint32_t event : {0u, 1u}) {
    const EventFormat& format = *view.names().events[event];
    std::set<std::int32_t> values;
    for (const std::uint16_t row : full.rows_of_values(event, *format.find("value"))) {
      EXPECT_EQ(full.event[row], event);
      values.insert(value_of(row));
    }
    EXPECT_EQ(values, (std::set<std::int32_t>{1, 3, 4, 5}));
    EXPECT_EQ(full.rows_of_flags(event).size(), 1u);
    EXPECT_TRUE(view.chunks()[1]->rows_of_flags(event).empty());  // still filling
  }
  EXPECT_EQ(full.rows_of_values(0, entry_.fields[0]).size(), 1u);
  EXPECT_TRUE(full.rows_of_values(1, return_.fields[0]).empty());
}

TEST_F(StoreTest, ValuesOfRecordsThatAreTooShortAreNotKnown) {
  const std::vector<std::uint8_t> bytes(20);
  for (std::uint32_t i = 0; i <= kChunkRows; ++i) {
    const std::size_t size = i == kChunkRows / 2 ? 18 : 20;
    ASSERT_TRUE(builder_.add(
        {.event = &entry_, .time_ns = i, .pid = 1, .comm = "task", .bytes = std::span(bytes).first(size)}));
  }
  const StoreView view = builder_.view();
  const StoreChunk& full = *view.chunks()[0];
  EXPECT_EQ(full.rows_of_values(0, entry_.fields[0]).size(), 1u);
  EXPECT_TRUE(full.rows_of_values(0, *entry_.find("value")).empty());
}

}  // namespace
}  // namespace kevt::record
