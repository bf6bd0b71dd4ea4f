#include "compiler/target/kernel/place_sides.h"

#include <gtest/gtest.h>

namespace kevt::target {
namespace {

using Side = PlaceSides::Side;

TEST(PlaceSides, APlaceSaysWhoseItIs) {
  const PlaceSides sides({"ext4", "fuse"});
  struct Row {
    const char* definition;
    Side side;
  };
  const Row rows[] = {
      {"p:w libc:write fd=%di:s32", Side::Program},
      {"  r16:g/e\tapp:main", Side::Program},
      {"p /usr/bin/app:0x4710 %di", Side::Program},
      {"p:line app:shapes.c:42 width", Side::Program},
      {"p:m libc:setjmp", Side::Program},
      {"p:x app:'Foo::bar(int, double)'", Side::Program},
      {"p:all libc:*alloc", Side::Program},
      {"p:k vfs_write", Side::Kernel},
      {"r vfs_write+0 $retval", Side::Kernel},
      {"p:v_* vfs_*", Side::Kernel},
      {"p 0xffffffff81000000", Side::Kernel},
      {"p:d ext4:ext4_readdir", Side::Kernel},
      {"p:d ext4x:readdir", Side::Program},
      {"p:d /usr/bin/fuse:main", Side::Program},
      {"f:reads vfs_read%return $retval", Side::Kernel},
      {"t:enter sys_enter id", Side::Kernel},
      {"w:x rw@panic_timeout:4", Side::Kernel},
      {"e:g/e syscalls.sys_enter_lseek fd=$fd", Side::Kernel},
      {"s:took u64 ns", Side::Both},
      {"-:kprobes/x", Side::Both},
      {"", Side::Both},
      {"p", Side::Kernel},
  };
  for (const Row& row : rows) EXPECT_EQ(sides.of(row.definition), row.side) << row.definition;
}

}  // namespace
}  // namespace kevt::target
