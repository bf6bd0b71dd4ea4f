#include "runtime-user/runtime/inproc/x86/path_lengths.h"

#include <gtest/gtest.h>

#include <vector>

namespace kevt::x86 {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(PathLengths, TellsTheWaysOutApart) {
  const Bytes code = {0x85, 0xff,              // test %edi, %edi
                      0x74, 0x06,              // je rejected
                      0x90,                    // nop
                      0x48, 0xff, 0x43, 0x08,  // incq 8(%rbx)
                      0xc3,                    // ret
                      0x48, 0xff, 0x43, 0x10,  // rejected: incq 16(%rbx)
                      0xc3};                   // ret
  const PathLengths lengths = path_lengths(code, 1);
  ASSERT_TRUE(lengths.recorded && lengths.rejected);
  EXPECT_EQ(lengths.recorded->least, 5u);
  EXPECT_EQ(lengths.recorded->most, 5u);
  EXPECT_EQ(lengths.rejected->least, 4u);
}

TEST(PathLengths, LeavesOutWaysThatCallTheAgent) {
  const Bytes code = {0x74, 0x02,                     // je over
                      0xff, 0xd0,                     // call *%rax
                      0x48, 0xff, 0x43, 0x08, 0xc3};  // over: incq 8(%rbx); ret
  const PathLengths lengths = path_lengths(code, 1);
  ASSERT_TRUE(lengths.recorded);
  EXPECT_EQ(lengths.recorded->most, 3u);
  EXPECT_FALSE(lengths.rejected);
}

TEST(PathLengths, TakesALoopAsOftenAsSaid) {
  const Bytes code = {0xff, 0xc8,                     // again: dec %eax
                      0x75, 0xfc,                     // jne again
                      0x48, 0xff, 0x43, 0x08, 0xc3};  // incq 8(%rbx); ret
  const PathLengths lengths = path_lengths(code, 10);
  ASSERT_TRUE(lengths.recorded);
  EXPECT_EQ(lengths.recorded->least, 4u);
  EXPECT_EQ(lengths.recorded->most, 4u + 9 * 2);
}

TEST(PathLengths, EndsOnBytesThatAreNoCode) {
  EXPECT_FALSE(path_lengths(Bytes{0x06, 0x06}, 1).recorded);
  EXPECT_FALSE(path_lengths(Bytes{0xeb, 0x7f}, 1).recorded);
  EXPECT_FALSE(path_lengths(Bytes{0xeb, 0xfe}, 1).recorded);
  EXPECT_FALSE(path_lengths(Bytes{}, 1).recorded);
}

}  // namespace
}  // namespace kevt::x86
