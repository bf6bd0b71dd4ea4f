// Branches of real programs, found again by a plain look at each byte.
#include "runtime-user/runtime/inproc/x86/jump_targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace kevt::x86 {
namespace {

using Branches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // source, target

void sort(Branches& branches) {
  std::ranges::sort(branches);
  const auto tail = std::ranges::unique(branches);
  branches.erase(tail.begin(), tail.end());
}

// jmp, call and jcc with a distance of 4 bytes, and xbegin, at any byte, that lead into the code.
Branches plainly(const target::ElfImage& image) {
  const auto& code = image.executable_ranges();
  Branches found;
  for (const target::ImageRange& range : code) {
    const auto bytes = image.bytes_at(range.begin, range.end.value - range.begin.value);
    for (std::size_t i = 0; i + 5 <= bytes.size(); ++i) {
      const bool is_short = bytes[i] == 0xe8 || bytes[i] == 0xe9;
      const bool is_long = i + 7 <= bytes.size() &&
                           ((bytes[i] == 0x0f && bytes[i + 1] >> 4 == 8) || (bytes[i] == 0xc7 && bytes[i + 1] == 0xf8));
      if (!is_short && !is_long) continue;
      const std::size_t at = i + (is_short ? 1 : 2);
      std::int32_t distance = 0;
      std::memcpy(&distance, bytes.data() + at, sizeof distance);
      const std::uint64_t target =
          range.begin.value + at + 4 + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
      if (target >= code.front().begin.value && target < code.back().end.value)
        found.emplace_back(range.begin.value + i, target);
    }
  }
  sort(found);
  return found;
}

TEST(JumpTargetsTest, HaveEachBranchOfAProgram) {
  unsigned programs = 0;
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3.11", "/lib/x86_64-linux-gnu/libz.so.1",
                           "/proc/self/exe"}) {
    const auto image = target::ElfImage::open(path);
    if (!image) continue;
    ++programs;
    JumpTargets all = JumpTargets::of_image(*image);
    const auto& code = image->executable_ranges();
    Branches found;
    for (const JumpTarget& one : all.within(code.front().begin, code.back().end))
      if (one.kind == TargetSource::Branch) found.emplace_back(one.source.value, one.target.value);
    sort(found);
    EXPECT_GT(found.size(), 100u) << path;
    EXPECT_TRUE(found == plainly(*image)) << path;
  }
  EXPECT_GT(programs, 1u);
}

}  // namespace
}  // namespace kevt::x86
