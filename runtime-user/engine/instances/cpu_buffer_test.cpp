#include "runtime-user/engine/instances/cpu_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace kevt::engine {
namespace {

using WhenFull = CpuBuffer::WhenFull;

std::vector<std::uint8_t> record_of(std::uint32_t number, std::size_t size = 16) {
  std::vector<std::uint8_t> bytes(size, 0x55);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::uint32_t number_of(std::span<const std::uint8_t> record) {
  std::uint32_t number;
  std::memcpy(&number, record.data(), sizeof number);
  return number;
}

TEST(CpuBuffer, HandsOutWhatWasAppendedInOrder) {
  CpuBuffer buffer(4);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_TRUE(buffer.append(1000 + i, record_of(i), WhenFull::Overwrite));
  for (std::uint32_t i = 0; i < 100; ++i) {
    const BufferEntry* entry = buffer.peek();
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->time_ns, 1000 + i);
    EXPECT_EQ(number_of(entry->record), i);
    buffer.consume();
  }
  EXPECT_EQ(buffer.peek(), nullptr);
  EXPECT_EQ(buffer.stats().read, 100u);
  EXPECT_EQ(buffer.stats().entries, 0u);
}

TEST(CpuBuffer, AReaderSeesWhatComesIntoThePageItReads) {
  CpuBuffer buffer(2);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    buffer.append(i, record_of(i), WhenFull::Overwrite);
    ASSERT_NE(buffer.peek(), nullptr);
    EXPECT_EQ(number_of(buffer.peek()->record), i);
    buffer.consume();
    EXPECT_EQ(buffer.peek(), nullptr);
  }
  EXPECT_EQ(buffer.stats().overrun, 0u);
}

TEST(CpuBuffer, OverwritingTellsTheReaderHowManyAreMissing) {
  CpuBuffer buffer(2);
  const std::uint32_t many = 2000;
  for (std::uint32_t i = 0; i < many; ++i) buffer.append(i, record_of(i), WhenFull::Overwrite);
  const BufferStats stats = buffer.stats();
  EXPECT_EQ(stats.entries + stats.overrun, many);
  const BufferEntry* entry = buffer.peek();
  EXPECT_EQ(entry->lost_before, stats.overrun);
  EXPECT_EQ(number_of(entry->record), stats.overrun);
  buffer.consume();
  EXPECT_EQ(buffer.peek()->lost_before, 0u);
}

TEST(CpuBuffer, StoppingKeepsTheOldestAndCountsTheRest) {
  CpuBuffer buffer(2);
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < 2000; ++i) taken += buffer.append(i, record_of(i), WhenFull::Stop);
  EXPECT_EQ(buffer.stats().entries, taken);
  EXPECT_EQ(buffer.stats().dropped, 2000 - taken);
  EXPECT_EQ(number_of(buffer.peek()->record), 0u);
}

TEST(CpuBuffer, ACursorLeavesEverythingThere) {
  CpuBuffer buffer(8);
  for (std::uint32_t i = 0; i < 500; ++i) buffer.append(i, record_of(i), WhenFull::Overwrite);
  for (int i = 0; i < 3; ++i) {
    (void)buffer.peek();
    buffer.consume();
  }
  (void)buffer.peek();
  for (int round = 0; round < 2; ++round) {
    CpuBuffer::Cursor cursor;
    for (std::uint32_t i = 3; i < 500; ++i) EXPECT_EQ(number_of(buffer.next(cursor)->record), i);
    EXPECT_FALSE(buffer.next(cursor));
  }
  EXPECT_EQ(buffer.stats().entries, 497u);
}

TEST(CpuBuffer, ACursorWhosePageWasOverwrittenGoesOnWithTheOldest) {
  CpuBuffer buffer(2);
  for (std::uint32_t i = 0; i < 100; ++i) buffer.append(i, record_of(i), WhenFull::Overwrite);
  CpuBuffer::Cursor cursor;
  EXPECT_EQ(number_of(buffer.next(cursor)->record), 0u);
  for (std::uint32_t i = 100; i < 3000; ++i) buffer.append(i, record_of(i), WhenFull::Overwrite);
  std::uint32_t last = 0;
  while (const auto entry = buffer.next(cursor)) last = number_of(entry->record);
  EXPECT_EQ(last, 2999u);
}

TEST(CpuBuffer, ACursorNeverWalksPagesOfABufferThatWasExchanged) {
  CpuBuffer first(4), second(4);
  for (std::uint32_t i = 0; i < 100; ++i) first.append(i, record_of(i), WhenFull::Overwrite);
  for (std::uint32_t i = 0; i < 5; ++i) second.append(i, record_of(1000 + i), WhenFull::Overwrite);
  CpuBuffer::Cursor cursor;
  EXPECT_EQ(number_of(first.next(cursor)->record), 0u);
  std::swap(first, second);
  second = CpuBuffer(2);  // its pages are gone
  EXPECT_EQ(number_of(first.next(cursor)->record), 1000u);
}

// Pages are what the kernel's are: with its reader they hold exactly what was appended.
TEST(CpuBuffer, PagesHoldTheSameEntries) {
  std::mt19937 random(7);
  CpuBuffer buffer(64);
  std::uint32_t written = 0, next = 0;
  std::uint64_t time = 0;
  const auto read_page = [&] {
    std::array<std::uint8_t, layout::kRingPageBytes> page;
    if (!buffer.take_page(page)) return false;
    auto reader = layout::RingPageReader::open(page);
    while (const auto event = reader->next()) EXPECT_EQ(number_of(event->record), next++);
    EXPECT_FALSE(reader->is_broken());
    return true;
  };
  for (int round = 0; round < 300; ++round) {
    for (std::uint32_t n = random() % 200; n > 0; --n)
      buffer.append(time += random() % 100, record_of(written++, 4 + random() % 200), WhenFull::Overwrite);
    for (std::uint32_t n = random() % 4; n > 0 && buffer.peek(); --n) {
      EXPECT_EQ(number_of(buffer.peek()->record), next++);
      buffer.consume();
    }
    for (std::uint32_t n = random() % 8; n > 0; --n) read_page();
  }
  while (read_page()) continue;
  EXPECT_EQ(next, written);
  EXPECT_EQ(buffer.stats().read, written);
}

TEST(CpuBuffer, WhatNoPageHoldsIsDropped) {
  CpuBuffer buffer(2);
  EXPECT_FALSE(buffer.append(0, std::vector<std::uint8_t>(layout::kMaxRingRecord + 1), WhenFull::Overwrite));
  EXPECT_TRUE(buffer.append(0, std::vector<std::uint8_t>(layout::kMaxRingRecord), WhenFull::Overwrite));
  EXPECT_EQ(buffer.stats().dropped, 1u);
}

TEST(CpuBuffer, ClearingForgetsEverything) {
  CpuBuffer buffer(2);
  for (std::uint32_t i = 0; i < 2000; ++i) buffer.append(i, record_of(i), WhenFull::Overwrite);
  buffer.clear();
  EXPECT_EQ(buffer.peek(), nullptr);
  EXPECT_EQ(buffer.stats().overrun, 0u);
  buffer.append(1, record_of(5), WhenFull::Overwrite);
  EXPECT_EQ(number_of(buffer.peek()->record), 5u);
  EXPECT_EQ(buffer.peek()->lost_before, 0u);
}

}  // namespace
}  // namespace kevt::engine
