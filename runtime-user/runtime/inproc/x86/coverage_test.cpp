// How many functions of real programs can be probed by a jump: a performance property, so measured.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::x86 {
namespace {

struct Share {
  unsigned jumps = 0;
  unsigned breakpoints = 0;
  unsigned all = 0;
  double milliseconds = 0;
  double percent() const { return all == 0 ? 100.0 : 100.0 * jumps / all; }
};

Share entries_of(const target::ElfImage& image) {
  const auto before = std::chrono::steady_clock::now();
  SitePlanner planner(image);
  Share share;
  for (const target::FunctionRange& function : image.functions()) {
    if (image.section_name(function.start).starts_with(".plt")) continue;
    const SitePlan plan = planner.plan(function.start);
    ++share.all;
    share.jumps += plan.kind == ArmKind::Jump;
    share.breakpoints += plan.kind == ArmKind::Breakpoint;
  }
  share.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  return share;
}

TEST(Coverage, FunctionEntriesTakeAJump) {
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/python3.11"}) {
    const auto image = target::ElfImage::open(path);
    if (!image) continue;
    const Share share = entries_of(*image);
    std::printf("%-45s %5u entries, %5u by jump (%.2f %%), %u by breakpoint, %.0f ms\n", path, share.all, share.jumps,
                share.percent(), share.breakpoints, share.milliseconds);
    EXPECT_GE(share.percent(), 97.0) << path;
    EXPECT_LT(share.milliseconds, 10000.0) << path;  // 2 s is the promise for libc; slack for a loaded machine
  }
}

}  // namespace
}  // namespace kevt::x86
