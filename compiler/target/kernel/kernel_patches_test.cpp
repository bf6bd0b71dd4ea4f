#include "compiler/target/kernel/kernel_patches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compiler/target/elf/core_file_testing.h"

namespace kevt::target {
namespace {

void put(std::string& memory, std::size_t at, std::int32_t word) { std::memcpy(memory.data() + at, &word, 4); }

KernelSymbols symbols(const std::string& more) {
  auto made = KernelSymbols::parse(
      "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000200 T _etext\nffffffff81001000 B _end\n" +
      more);
  EXPECT_TRUE(made);
  return std::move(*made);
}

TEST(KernelPatches, EntriesAreCountedFromThemselves) {
  std::string memory(0x400, '\0');
  put(memory, 0x300, 0x100 - 0x300);  // two jump labels
  put(memory, 0x310, 0x120 - 0x310);
  put(memory, 0x340, 0x140 - 0x340);  // a static call
  put(memory, 0x380, 0x160 - 0x380);  // a BUG()
  const CoreFile core(memory);
  const KernelPatches patches = KernelPatches::read(
      symbols("ffffffff81000300 D __start___jump_table\nffffffff81000320 D __stop___jump_table\n"
              "ffffffff81000340 D __start_static_call_sites\nffffffff81000348 D __stop_static_call_sites\n"
              "ffffffff81000380 D __start___bug_table\nffffffff8100038c D __stop___bug_table\n"),
      core.text());
  EXPECT_EQ(patches.size(), 4u);
  for (const std::uint64_t at : {0x100, 0x120, 0x140, 0x160}) EXPECT_TRUE(patches.has(kKernelBase + at)) << at;
  EXPECT_FALSE(patches.has(kKernelBase + 0x101));
}

TEST(KernelPatches, TablesThatMakeNoSenseAreLeftOut) {
  const CoreFile core(std::string(0x400, '\0'));
  EXPECT_EQ(KernelPatches::read(symbols(""), core.text()).size(), 0u);
  EXPECT_EQ(
      KernelPatches::read(symbols("ffffffff81000320 D __start___jump_table\nffffffff81000300 D __stop___jump_table\n"
                                  "ffffffff81000f00 D __start___bug_table\nffffffff81000fff D __stop___bug_table\n"),
                          core.text())
          .size(),
      0u);
}

TEST(KernelPatches, TracedFunctionsBeginWithRoomForACall) {
  constexpr std::uint64_t kTracer = 0x2000;
  const auto traced = [](std::vector<std::uint8_t> bytes) {
    return is_traced(0x1000, bytes, [](std::uint64_t called) { return called == kTracer; });
  };
  EXPECT_EQ(traced({0x0f, 0x1f, 0x44, 0x00, 0x00, 0x55}), Traced::Yes);
  EXPECT_EQ(traced({0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0x00, 0x00}), Traced::Yes);
  EXPECT_EQ(traced({0x66, 0x0f, 0x1f, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00}), Traced::Yes);
  EXPECT_EQ(traced({0x0f, 0x1f, 0x40, 0xd6, 0x0f, 0x1f, 0x44, 0x00, 0x00}), Traced::Yes);
  EXPECT_EQ(traced({0xe8, 0xfb, 0x0f, 0x00, 0x00}), Traced::Yes);
  EXPECT_EQ(traced({0xf3, 0x0f, 0x1e, 0xfa, 0xe8, 0xf7, 0x0f, 0x00, 0x00}), Traced::Yes);
  EXPECT_EQ(traced({0xe8, 0xfc, 0x0f, 0x00, 0x00}), Traced::No);
  EXPECT_EQ(traced({0xe8, 0xfb, 0x0f}), Traced::No);
  EXPECT_EQ(traced({0x55, 0x48, 0x89, 0xe5, 0x90}), Traced::No);
  EXPECT_EQ(traced({0xf3, 0x0f, 0x1e, 0xfa, 0x55}), Traced::No);
  EXPECT_EQ(traced({0xcc, 0x1f, 0x44, 0x00, 0x00}), Traced::Unknown);
  EXPECT_EQ(traced({}), Traced::Unknown);
}

}  // namespace
}  // namespace kevt::target
