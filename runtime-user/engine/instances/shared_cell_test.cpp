#include "runtime-user/engine/instances/shared_cell.h"

#include <gtest/gtest.h>

#include <array>

namespace kevt::engine {
namespace {

TEST(SharedCell, KeepsItsValueWhenItIsShared) {
  std::array<std::uint64_t, 2> words{};
  SharedCellPool room(words);
  SharedCell word(7);
  EXPECT_EQ(word.load(), 7u);
  ASSERT_TRUE(word.share(room));
  EXPECT_EQ(word.load(), 7u);
  EXPECT_EQ(words[word.index()], 7u);
  words[word.index()] = 8;
  EXPECT_EQ(word.exchange(9), 8u);
  EXPECT_EQ(words[word.index()], 9u);
}

TEST(SharedCell, IsGivenBackAndTakenLast) {
  std::array<std::uint64_t, 2> words{};
  SharedCellPool room(words);
  {
    SharedCell first(1);
    ASSERT_TRUE(first.share(room));
    EXPECT_EQ(first.index(), 0u);
    SharedCell moved(std::move(first));
    EXPECT_EQ(moved.load(), 1u);
  }
  SharedCell second(2), third(3), fourth(4);
  ASSERT_TRUE(second.share(room) && third.share(room));
  EXPECT_EQ(second.index(), 1u);
  EXPECT_EQ(third.index(), 0u);
  EXPECT_FALSE(fourth.share(room));
  EXPECT_EQ(fourth.load(), 4u);
}

TEST(SharedCell, NoRoomWhereTheRuntimeHasNone) {
  SharedCellPool room({});
  EXPECT_FALSE(room.offers_any());
  SharedSwitch is_on(true);
  EXPECT_FALSE(is_on.word().share(room));
  EXPECT_TRUE(is_on.exchange(false));
  EXPECT_FALSE(bool(is_on));
}

TEST(SharedCount, BelowNothingIsNothing) {
  std::array<std::uint64_t, 1> words{};
  SharedCellPool room(words);
  SharedCount count(1);
  ASSERT_TRUE(count.word().share(room));
  count.take_one();
  EXPECT_EQ(count.left(), 0u);
  words[0] -= 1;  // as two hits that both were the last one
  EXPECT_EQ(count.left(), 0u);
}

}  // namespace
}  // namespace kevt::engine
