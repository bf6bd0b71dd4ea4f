#include "runtime-user/runtime/inproc/memory/session_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/differential/test_seed.h"

namespace kevt::inproc {
namespace {

// As the agent looks a key up (runtime-user/agent/signals.c); 0: it is not there.
std::uint64_t look_up(const SessionMemory& memory, std::uint64_t key) {
  const auto* tables = reinterpret_cast<const std::uint8_t*>(&memory.tables());
  const auto* map = reinterpret_cast<const kevt_map_entry*>(tables + (memory.tables().map - memory.tables().self));
  for (std::uint32_t n = 0; n < KEVT_MAP_SLOTS; ++n) {
    const kevt_map_entry& entry = map[kevt_map_slot(key, n)];
    if (entry.key == key) return entry.value;
    if (!entry.key) break;
  }
  return 0;
}

SessionMemory session() {
  auto memory = SessionMemory::create({.ring_bytes = 64u << 10, .rows = 64});
  EXPECT_TRUE(memory.has_value());
  memory->set_target(RemoteAddr{0x7f0000000000});
  return *std::move(memory);
}

// Keys of a few pages, so that they crowd: more than the group of a page holds.
TEST(SessionMemory, KeysOfTheAddressMapComeAndGo) {
  SessionMemory memory = session();
  std::mt19937_64 random(test::test_seed());
  std::map<std::uint64_t, std::uint64_t> mapped;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t key = 0x400000 + random() % 8 * 0x1000 + random() % 512 * 8;
    if (random() % 2) {
      ASSERT_TRUE(memory.map_address(RemoteAddr{key}, RemoteAddr{random() | 1}).has_value());
      mapped[key] = look_up(memory, key);
      ASSERT_NE(mapped[key], 0u);
    } else {
      memory.unmap_address(RemoteAddr{key});
      mapped.erase(key);
      ASSERT_EQ(look_up(memory, key), 0u);
    }
  }
  for (std::uint64_t key = 0x400000; key < 0x408000; key += 8)
    ASSERT_EQ(look_up(memory, key), mapped.contains(key) ? mapped[key] : 0) << key;
}

TEST(SessionMemory, RowsAreGivenOutAgainAndCountFromZero) {
  SessionMemory memory = session();
  memory.session().next_shard = 3;
  std::vector<kevt_event> events(64);
  std::vector<std::uint32_t> rows;
  for (kevt_event& event : events) {
    auto block = memory.add_event(&event, RemoteAddr{0x1000}, 1);
    ASSERT_TRUE(block.has_value());
    rows.push_back(block->row);
  }
  EXPECT_EQ(memory.free_rows(), 0u);
  kevt_event more;
  EXPECT_FALSE(memory.add_event(&more, RemoteAddr{0x1000}, 1).has_value());
  auto* counts = reinterpret_cast<std::uint8_t*>(&memory.tables()) + (memory.tables().counts - memory.tables().self);
  for (const std::uint64_t shard : {1, 2})
    for (const std::uint32_t row : {8u, 9u})
      reinterpret_cast<kevt_counts*>(counts + KEVT_SHARD_OFFSET(shard) +
                                     KEVT_ROW_OFFSET(row, memory.tables().group_bytes))
          ->hits = 7;
  EXPECT_EQ(memory.counts(8).hits, 14u);
  memory.forget_event(8, 1);
  EXPECT_EQ(memory.free_rows(), 1u);
  auto again = memory.add_event(&more, RemoteAddr{0x1000}, 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->row, 8u);
  EXPECT_EQ(memory.counts(8).hits, 0u);
  EXPECT_EQ(memory.counts(9).hits, 14u);
}

// The sinks of an event share a tile.
TEST(SessionMemory, SinksLieSideBySide) {
  SessionMemory memory = session();
  kevt_event event;
  const auto take = [&](std::uint32_t sinks) {
    auto block = memory.add_event(&event, RemoteAddr{0x1000}, sinks);
    return block ? block->row : ~0u;
  };
  EXPECT_EQ(take(5), 0u);
  EXPECT_EQ(take(5), 8u);  // three are left out, for others
  EXPECT_EQ(take(2), 5u);
  EXPECT_EQ(take(3), 13u);
  memory.forget_event(0, 5);
  EXPECT_EQ(take(6), 16u);
  EXPECT_EQ(take(4), 0u);
}

}  // namespace
}  // namespace kevt::inproc
