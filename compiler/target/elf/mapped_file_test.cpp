#include "compiler/target/elf/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/target/kernel/kernel_names.h"

namespace kevt::target {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(FileAndOffset, IsTheFilesNameAndTheOffsetInIt) {
  const auto maps = parse_maps(
      "555500000000-555500001000 r-xp 00000000 08:01 10 /opt/a/prog\n"
      "7f0000001000-7f0000003000 r-xp 00026000 08:01 11 /usr/lib/libc.so.6\n"
      "7f0000003000-7f0000004000 rwxp 00000000 00:00 0 \n"
      "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n");
  ASSERT_TRUE(maps);
  EXPECT_THAT(file_and_offset(*maps, {0x555500000010}), Optional(std::string("prog+0x10")));
  EXPECT_THAT(file_and_offset(*maps, {0x7f0000002abc}), Optional(std::string("libc.so.6+0x27abc")));
  EXPECT_THAT(file_and_offset(*maps, {0x7fff00000008}), Optional(std::string("[vdso]+0x8")));
  EXPECT_EQ(file_and_offset(*maps, {0x7f0000003010}), std::nullopt) << "memory without a name";
  EXPECT_EQ(file_and_offset(*maps, {0x7f0000004000}), std::nullopt) << "behind the last byte";
  EXPECT_EQ(file_and_offset(*maps, {0x1000}), std::nullopt);
}

// This process's own mapping of a file, before and after the name leads to another one.
TEST(ReadablePath, LeadsToTheFileThatIsMapped) {
  char folder[] = "/tmp/kevt-mapped-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/file";
  std::filesystem::copy_file("/proc/self/exe", path);
  const auto mapped_object = [&]() -> std::optional<LoadedObject> {
    const auto maps = read_maps(getpid());
    for (const LoadedObject& one : loaded_objects(*maps))
      if (one.path == path) return one;
    return std::nullopt;
  };
  FILE* open_file = fopen(path.c_str(), "r");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(open_file), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto there = mapped_object();
  ASSERT_TRUE(there);
  const auto id = file_id(path);
  EXPECT_EQ(file_id(readable_path(getpid(), *there)), id);
  std::filesystem::remove(path);
  std::ofstream(path) << "another file";
  const auto gone = mapped_object();
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->deleted);
  const std::string found = readable_path(getpid(), *gone);
  if (found.empty())
    EXPECT_THAT(unreadable_text(*gone), HasSubstr("it was deleted or replaced; as root"));
  else
    EXPECT_EQ(file_id(found), id);
  munmap(memory, 4096);
  fclose(open_file);
  std::filesystem::remove_all(folder);
}

TEST(KernelNames, AreFunctionsOfTheWholeName) {
  constexpr const char* kText =
      "ffffffff81000000 T _stext\n"
      "ffffffff81000010 t vfs_read\n"
      "ffffffff81000020 T vfs_readv\n"
      "ffffffff81000030 D jiffies\n"
      "ffffffffc0000000 t in_module\t[mod]\n"
      "ffffffffc0000010 W last";
  for (const char* name : {"_stext", "vfs_read", "vfs_readv", "in_module", "last"})
    EXPECT_TRUE(names_function(kText, name)) << name;
  for (const char* name : {"", "vfs", "read", "jiffies", "mod", "T", "fs_read"})
    EXPECT_FALSE(names_function(kText, name)) << name;
}

}  // namespace
}  // namespace kevt::target
