#include "runtime-user/runtime/inproc/code/code_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/differential/test_seed.h"

namespace kevt::inproc {
namespace {

constexpr RemoteAddr kBase{0x7f0000000000};

TEST(CodeArena, WhatIsGivenBackIsGivenOutAgain) {
  auto arena = CodeArena::create();
  ASSERT_TRUE(arena.has_value());
  CodeArena::Window* window = arena->add_window(0, kBase);
  std::mt19937_64 random(test::test_seed());
  std::map<std::uint64_t, std::uint64_t> taken;  // by where they begin
  std::uint64_t most = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (taken.size() < 100 && random() % 2) {
      const std::uint64_t size = 1 + random() % 2000;
      auto at = arena->allocate(*window, size);
      ASSERT_TRUE(at.has_value());
      const auto next = taken.lower_bound(at->value);
      ASSERT_TRUE(next == taken.end() || next->first >= at->value + size);
      ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= at->value);
      taken[at->value] = size;
    } else if (!taken.empty()) {
      const auto gone = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      arena->give_back(RemoteAddr{gone->first}, gone->second);
      EXPECT_EQ(*arena->local(RemoteAddr{gone->first}, 1), 0xcc);
      taken.erase(gone);
    }
    most = std::max(most, arena->used_bytes());
  }
  EXPECT_LT(window->used, 2 * most);  // and not the 20 MB that were asked for in all
  for (const auto& [at, size] : taken) arena->give_back(RemoteAddr{at}, size);
  EXPECT_EQ(arena->used_bytes(), 0u);
  EXPECT_EQ(window->free.size(), 1u);
}

TEST(CodeArena, AWindowIsFullOnceAndHasRoomAgain) {
  auto arena = CodeArena::create();
  ASSERT_TRUE(arena.has_value());
  CodeArena::Window* window = arena->add_window(0, kBase);
  const auto near = [&](std::uint64_t bytes) { return arena->window_near(kBase, kBase + 1, bytes); };
  auto half = arena->allocate(*window, CodeArena::kWindowBytes / 2),
       other = arena->allocate(*window, CodeArena::kWindowBytes / 2);
  ASSERT_TRUE(half && other);
  EXPECT_EQ(near(1), nullptr);
  EXPECT_FALSE(arena->allocate(*window, 1).has_value());
  arena->give_back(*half, CodeArena::kWindowBytes / 2);
  EXPECT_EQ(near(CodeArena::kWindowBytes / 2), window);
  EXPECT_EQ(near(CodeArena::kWindowBytes / 2 + 1), nullptr);
}

}  // namespace
}  // namespace kevt::inproc
