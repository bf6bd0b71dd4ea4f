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

}  // namespace
}  // namespace kevt::fuse
