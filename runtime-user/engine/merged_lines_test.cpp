#include "runtime-user/engine/merged_lines.h"

#include <gtest/gtest.h>

namespace kevt::engine {
namespace {

constexpr std::uint64_t kEverything = ~0ull;

TEST(MergedLines, OrdersByTimeAcrossSessions) {
  MergedLines lines;
  lines.add(10, "a10\n");
  lines.add(30, "a30\n");
  lines.add(20, "b20\n");
  std::string out;
  const auto append = [&](std::string_view line) { out += line; };
  EXPECT_EQ(lines.take(kEverything, kEverything, append), 3u);
  EXPECT_EQ(out, "a10\nb20\na30\n");
}

TEST(MergedLines, KeepsWhatAnotherSessionMayStillPrecede) {
  MergedLines lines;
  lines.add(98, "a98\n");
  lines.add(104, "b104\n");
  std::string out;
  const auto append = [&](std::string_view line) { out += line; };
  EXPECT_EQ(lines.take(100, kEverything, append), 1u);
  lines.add(101, "a101\n");
  EXPECT_EQ(lines.take(200, kEverything, append), 2u);
  EXPECT_EQ(out, "a98\na101\nb104\n");
}

TEST(MergedLines, StopsAtTheLimitAndKeepsTheOrderOfEqualTimes) {
  MergedLines lines;
  for (const char* line : {"1\n", "2\n", "3\n"}) lines.add(5, line);
  std::string out;
  const auto append = [&](std::string_view line) { out += line; };
  EXPECT_EQ(lines.take(5, 2, append), 2u);
  EXPECT_EQ(out, "1\n2\n");
  EXPECT_EQ(lines.take(kEverything, 0, append), 0u);
}

}  // namespace
}  // namespace kevt::engine
