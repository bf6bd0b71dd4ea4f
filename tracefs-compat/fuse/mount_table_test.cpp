#include "tracefs-compat/fuse/mount_table.h"

#include <gtest/gtest.h>

namespace kevt::fuse {
namespace {

constexpr std::string_view kTable =
    "22 28 0:21 / /proc rw shared:12 - proc proc rw\n"
    "36 28 0:44 / /tmp/t rw,nosuid shared:7 - fuse.kevtrace kevtrace rw\n"
    "37 28 0:45 / /tmp/a\\040b\\134 rw - fuse.kevtrace kevtrace rw\n"
    "38 36 0:46 / /tmp/t rw - tmpfs none rw\n"
    "broken\n";

TEST(MountTable, TheLastOneOnADirectoryIsMeant) {
  EXPECT_EQ(device_mounted_on("/tmp/t", kTable), "0:46");
  EXPECT_EQ(device_mounted_on("/proc", kTable), "0:21");
  EXPECT_EQ(device_mounted_on("/tmp", kTable), std::nullopt);
  EXPECT_EQ(device_mounted_on("", kTable), std::nullopt);
}

TEST(MountTable, BlanksInPathsAreEscaped) { EXPECT_EQ(device_mounted_on("/tmp/a b\\", kTable), "0:45"); }

TEST(MountTable, OfThisSystem) { EXPECT_TRUE(device_mounted_on("/proc")); }

}  // namespace
}  // namespace kevt::fuse
