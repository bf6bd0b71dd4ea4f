#include "compiler/target/process/process_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace kevt::target {
namespace {

constexpr const char* kMaps =
    "555555554000-555555555000 r--p 00000000 08:01 100                        /usr/bin/cat\n"
    "555555555000-555555556000 r-xp 00001000 08:01 100                        /usr/bin/cat\n"
    "555555560000-555555581000 rw-p 00000000 00:00 0                          [heap]\n"
    "7ffff7c00000-7ffff7d00000 r--p 00000000 08:01 300                        /usr/lib/locale/locale-archive\n"
    "7ffff7dc0000-7ffff7de6000 r--p 00000000 08:01 200                        /usr/lib/my libs/libc.so.6 (deleted)\n"
    "7ffff7de6000-7ffff7f3c000 r-xp 00026000 08:01 200                        /usr/lib/my libs/libc.so.6 (deleted)\n"
    "7ffff7f3c000-7ffff7f90000 r--p 0017c000 08:01 200                        /usr/lib/my libs/libc.so.6 (deleted)\n"
    "7ffff7f90000-7ffff7f9d000 rw-p 00000000 00:00 0 \n"
    "7ffff7fa0000-7ffff7fc6000 r--p 00000000 08:01 200                        /usr/lib/my libs/libc.so.6 (deleted)\n"
    "7ffff7fc6000-7ffff7fc8000 r-xp 00026000 08:01 200                        /usr/lib/my libs/libc.so.6 (deleted)\n"
    "7ffff7fc9000-7ffff7fcb000 r-xp 00000000 00:00 0                          [vdso]\n"
    "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

TEST(ProcessMap, ReadsTheFields) {
  const auto maps = parse_maps(kMaps);
  ASSERT_TRUE(maps) << maps.error().message();
  ASSERT_EQ(maps->size(), 13u);
  const Mapping& code = (*maps)[5];
  EXPECT_EQ(code.start.value, 0x7ffff7de6000u);
  EXPECT_EQ(code.end.value, 0x7ffff7f3c000u);
  EXPECT_TRUE(code.readable && code.executable && !code.writable && !code.shared);
  EXPECT_EQ(code.offset.value, 0x26000u);
  EXPECT_EQ(code.device_major, 8u);
  EXPECT_EQ(code.inode, 200u);
  EXPECT_EQ(code.path, "/usr/lib/my libs/libc.so.6");
  EXPECT_TRUE(code.deleted);
  EXPECT_FALSE((*maps)[2].is_file());
  EXPECT_EQ((*maps)[7].path, "");
}

TEST(ProcessMap, RefusesOtherText) {
  for (const char* text : {"x", "1000-2000", "1000-2000 r-xp", "2000-1000 r-xp 00000000 08:01 1 /x",
                           "1000-2000 r-xp 0 08-01 1 /x", "1000-2000 r-xp 0 08:01 x /x"}) {
    EXPECT_FALSE(parse_maps(text)) << text;
  }
  EXPECT_THAT(parse_maps("1000-2000 r-xp 0 08:01 1 /x\nrubbish\n").error().message(), testing::HasSubstr("line 2"));
  EXPECT_TRUE(parse_maps("")->empty());
}

TEST(ProcessMap, GroupsObjects) {
  const auto objects = loaded_objects(*parse_maps(kMaps));
  ASSERT_EQ(objects.size(), 3u);  // cat and libc twice; the locale archive has no code
  EXPECT_EQ(objects[0].path, "/usr/bin/cat");
  EXPECT_EQ(objects[1].ranges.size(), 3u);
  EXPECT_EQ(objects[2].ranges.size(), 2u);
  EXPECT_EQ(objects[2].start().value, 0x7ffff7fa0000u);
  EXPECT_TRUE(objects[1].contains({0x7ffff7de6001}));
  EXPECT_FALSE(objects[1].contains({0x7ffff7f90000}));
}

TEST(ProcessMap, BiasOfThisProcess) {
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps);
  unsigned seen = 0;
  for (const LoadedObject& object : loaded_objects(*maps)) {
    const auto image = ElfImage::open(object.path);
    if (!image) continue;
    const auto bias = load_bias(object, *image);
    ASSERT_TRUE(bias) << object.path;
    const auto own = image->find_functions("getpid");
    if (object.path.ends_with("/libc.so.6") && own.size() == 1) {
      EXPECT_EQ(own[0].address.value + *bias, reinterpret_cast<std::uintptr_t>(&::getpid));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 1u);
}

TEST(ProcessMap, GapsAreCloseAndFree) {
  const auto maps = *parse_maps(kMaps);
  const RemoteAddr near{0x7ffff7e00000};
  constexpr std::uint64_t kReach = std::uint64_t{2} << 30;
  const auto small = find_gap(maps, near, 0x1000, kReach);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->value, 0x7ffff7dc0000u - 0x2000);  // just below libc, one page kept free
  const auto large = find_gap(maps, near, 0x5000000, kReach);
  ASSERT_TRUE(large);
  EXPECT_LT(large->value + 0x5000000, 0x7ffff7c00000u);
  EXPECT_EQ(large->value % 4096, 0u);
  EXPECT_FALSE(find_gap(maps, near, 0x1000, 0x1000));
  EXPECT_FALSE(find_gap(maps, near, ~std::uint64_t{0}, kReach));
  EXPECT_FALSE(find_gap(maps, near, 0, kReach));
  const auto beside_heap = find_gap(maps, {0x555555555800}, 0x1000, kReach);
  ASSERT_TRUE(beside_heap);
  EXPECT_EQ(beside_heap->value, 0x555555557000u);
}

TEST(ProcessMap, GapsKeepAwayFromTheStack) {
  const auto maps = *parse_maps(kMaps);
  const auto gap = find_gap(maps, {0x7ffffffd0000}, 0x1000, std::uint64_t{2} << 30);
  ASSERT_TRUE(gap);
  EXPECT_LE(gap->value, 0x7ffffffde000u - (64 << 20));
}

}  // namespace
}  // namespace kevt::target
