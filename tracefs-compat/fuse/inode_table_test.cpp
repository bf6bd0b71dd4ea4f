#include "tracefs-compat/fuse/inode_table.h"

#include <gtest/gtest.h>

namespace kevt::fuse {
namespace {

TEST(InodeTable, APathKeepsItsNumberWhileItIsKnown) {
  InodeTable table;
  const auto trace = table.look_up("trace");
  EXPECT_NE(trace, 1u);
  EXPECT_EQ(table.look_up("trace"), trace);
  EXPECT_NE(table.look_up("events"), trace);
  table.forget(trace, 1);
  ASSERT_NE(table.path_of(trace), nullptr);
  EXPECT_EQ(*table.path_of(trace), "trace");
  table.forget(trace, 1);
  EXPECT_EQ(table.path_of(trace), nullptr);
  EXPECT_NE(table.look_up("trace"), trace);
}

TEST(InodeTable, TheDirectoryItselfIsNeverForgotten) {
  InodeTable table;
  table.forget(1, 1000);
  ASSERT_NE(table.path_of(1), nullptr);
  EXPECT_EQ(*table.path_of(1), "");
  table.forget(77, 1);
}

// A folder that was made again under a name is another one: the kernel calls the removed one dead for ever.
TEST(InodeTable, WhatIsMadeAgainGetsAnotherNumber) {
  InodeTable table;
  const auto folder = table.look_up("instances/x"), file = table.look_up("instances/x/trace");
  const auto beside = table.look_up("instances/x2/trace");
  table.change("instances/x/trace").mode = 0600;
  table.remove("instances/x");
  EXPECT_EQ(table.path_of(folder), nullptr);
  EXPECT_EQ(table.path_of(file), nullptr);
  EXPECT_EQ(table.find_change("instances/x/trace"), nullptr);
  ASSERT_NE(table.path_of(beside), nullptr);
  const auto again = table.look_up("instances/x");
  EXPECT_NE(again, folder);
  table.forget(folder, 1);  // comes late
  table.forget(file, 1);
  ASSERT_NE(table.path_of(again), nullptr);
  EXPECT_EQ(table.look_up("instances/x"), again);
}

TEST(InodeTable, WhatIsGoneLeavesOnceThereIsMuchOfIt) {
  InodeTable table;
  const auto kept = table.look_up("events/kprobes/kept");
  std::size_t asked = 0;
  const auto is_there = [&](const std::string& path) { return ++asked, path.ends_with("kept"); };
  std::uint64_t first = 0, last = 0;
  for (int i = 0; i < 10'000; ++i) {
    last = table.look_up("events/kprobes/e" + std::to_string(i));
    if (i == 0) first = last;
    table.remove_gone(is_there);
  }
  EXPECT_EQ(table.path_of(first), nullptr);
  EXPECT_NE(table.path_of(last), nullptr) << "there are few again";
  ASSERT_NE(table.path_of(kept), nullptr);
  ASSERT_NE(table.path_of(1), nullptr);
  EXPECT_EQ(table.look_up("events/kprobes/kept"), kept);
  EXPECT_GT(asked, 8000u);
  EXPECT_LT(asked, 12'000u) << "not at each of them";
  table.forget(first, 1);  // comes late
  EXPECT_NE(table.look_up("events/kprobes/e0"), first);
}

}  // namespace
}  // namespace kevt::fuse
