#include "compiler/layout/ring_page.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace kevt::layout {
namespace {

using Page = std::array<std::uint8_t, kRingPageBytes>;

std::uint32_t word(const Page& page, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, page.data() + at, sizeof value);
  return value;
}

void append(RingPageWriter& writer, std::uint64_t time_ns, std::string_view text) {
  const auto room = writer.append(time_ns, static_cast<std::uint32_t>(text.size()));
  ASSERT_EQ(room.size(), text.size());
  std::memcpy(room.data(), text.data(), text.size());
}

TEST(RingPage, AShortRecordIsItsHeadAndPaddedBytes) {
  Page page;
  page.fill(0xaa);
  RingPageWriter writer(page, 1000);
  append(writer, 3000, "12345");
  EXPECT_EQ(word(page, 0), 1000u);
  EXPECT_EQ(word(page, 8), 12u);
  EXPECT_EQ(word(page, 16), 2u | 2000u << 5);
  EXPECT_EQ(std::memcmp(page.data() + 20, "12345\0\0\0", 8), 0);
}

TEST(RingPage, ALongStepHasAnEventOfItsOwn) {
  Page page;
  RingPageWriter writer(page, 0);
  const std::uint64_t step = (5ull << 27) + 9;
  append(writer, step, "1234");
  EXPECT_EQ(word(page, 16), 30u | 9u << 5);
  EXPECT_EQ(word(page, 20), 5u);
  EXPECT_EQ(word(page, 24), 1u);
  auto reader = RingPageReader::open(page);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->next()->time_ns, step);
  EXPECT_FALSE(reader->next());
  EXPECT_FALSE(reader->is_broken());
}

TEST(RingPage, ALongRecordHasItsLengthInFront) {
  Page page;
  RingPageWriter writer(page, 7);
  append(writer, 7, std::string(113, 'x'));
  EXPECT_EQ(word(page, 16), 0u);
  EXPECT_EQ(word(page, 20), 120u);
  auto reader = RingPageReader::open(page);
  const auto event = reader->next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->record.size(), 116u);
  EXPECT_EQ(event->record[112], 'x');
  EXPECT_EQ(event->record[113], 0);
}

TEST(RingPage, TheLongestRecordFillsAPage) {
  Page page;
  RingPageWriter writer(page, 0);
  EXPECT_EQ(writer.append(0, kMaxRingRecord).size(), kMaxRingRecord);
  EXPECT_EQ(writer.used(), kRingPageData);
  EXPECT_TRUE(writer.append(0, 1).empty());
}

TEST(RingPage, WhatIsWrittenIsRead) {
  std::mt19937_64 random(4711);
  for (int round = 0; round < 200; ++round) {
    Page page;
    std::uint64_t time = random() >> 8;
    RingPageWriter writer(page, time);
    std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> written;
    for (;;) {
      time += random() % 3 == 0 ? random() >> 30 : random() % 5000;
      std::vector<std::uint8_t> bytes(1 + random() % (random() % 4 == 0 ? 400 : 60));
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      const auto room = writer.append(time, static_cast<std::uint32_t>(bytes.size()));
      if (room.empty()) break;
      std::ranges::copy(bytes, room.begin());
      written.emplace_back(time, std::move(bytes));
    }
    auto reader = RingPageReader::open(page);
    ASSERT_TRUE(reader);
    for (const auto& [at, bytes] : written) {
      const auto event = reader->next();
      ASSERT_TRUE(event);
      EXPECT_EQ(event->time_ns, at);
      ASSERT_EQ(event->record.size(), (bytes.size() + 3) / 4 * 4);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), event->record.begin()));
    }
    EXPECT_FALSE(reader->next());
    EXPECT_FALSE(reader->is_broken());
  }
}

TEST(RingPage, MissedEventsAreCountedBehindTheData) {
  Page page;
  RingPageWriter writer(page, 1);
  append(writer, 1, "abcd");
  mark_missed(page, 42);
  clear_unused(page);
  auto reader = RingPageReader::open(page);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->has_missed());
  EXPECT_EQ(reader->missed(), 42u);
  EXPECT_EQ(reader->used(), 8u);
  EXPECT_TRUE(reader->next());
  EXPECT_FALSE(reader->next());
}

TEST(RingPage, MissedEventsOfAFullPageHaveNoNumber) {
  Page page;
  RingPageWriter writer(page, 1);
  (void)writer.append(1, kMaxRingRecord);
  mark_missed(page, 42);
  auto reader = RingPageReader::open(page);
  EXPECT_TRUE(reader->has_missed());
  EXPECT_EQ(reader->missed(), 0u);
}

TEST(RingPage, DiscardedEventsAreSteppedOver) {
  Page page{};
  RingPageWriter writer(page, 0);
  append(writer, 10, "12345678");
  append(writer, 30, "abcd");
  const std::uint32_t discarded = 29u | 10u << 5, length = 8;
  std::memcpy(page.data() + 16, &discarded, 4);
  std::memcpy(page.data() + 20, &length, 4);
  auto reader = RingPageReader::open(page);
  const auto event = reader->next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->time_ns, 30u);
  EXPECT_FALSE(reader->next());
  EXPECT_FALSE(reader->is_broken());
}

TEST(RingPage, AnythingMayStandInAPage) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> bytes(random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 3 ? random() % 40 : random());
    if (bytes.size() >= 16 && random() % 2) {
      const std::uint64_t commit = random() % (bytes.size() - 15) | (random() % 4) << 30;
      std::memcpy(bytes.data() + 8, &commit, sizeof commit);
    }
    auto reader = RingPageReader::open(bytes);
    if (!reader) continue;
    std::size_t events = 0;
    while (const auto event = reader->next()) {
      ++events;
      EXPECT_LE(event->record.data() + event->record.size(), bytes.data() + bytes.size());
    }
    EXPECT_LE(events, bytes.size() / 4);
  }
}

}  // namespace
}  // namespace kevt::layout
