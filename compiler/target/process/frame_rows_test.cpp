#include "compiler/target/process/frame_rows.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace kevt::target {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kRule = KEVT_STACK_RULE(KEVT_STACK_FROM_SP, 0, 16, 0);

constexpr std::int64_t kEnoughNs = 60'000'000'000;

MATCHER_P2(IsRule, start, rule, "") { return arg.start == start && arg.rule == rule; }

TEST(FrameRules, KeepSignedDistances) {
  for (const std::int64_t frame :
       {std::int64_t{8}, std::int64_t{-8}, (std::int64_t{1} << 28), -(std::int64_t{1} << 28)})
    for (const std::int64_t bp : {std::int64_t{-16}, std::int64_t{24}}) {
      const std::uint64_t rule = KEVT_STACK_RULE(KEVT_STACK_AT_BP, 1, frame, bp);
      EXPECT_EQ(KEVT_STACK_KIND(rule), std::uint64_t{KEVT_STACK_AT_BP});
      EXPECT_EQ(KEVT_STACK_HAS_BP(rule), 1u);
      EXPECT_EQ(KEVT_STACK_FRAME(rule), frame);
      EXPECT_EQ(KEVT_STACK_BP(rule), bp);
    }
}

TEST(FrameRules, OfModulesOneBehindTheOther) {
  std::vector<kevt_stack_rule> rules = {{0, KEVT_STACK_NO_RULE}};
  append_rules({{0, kRule}, {16, KEVT_STACK_LAST}, {4096, kRule}}, 4096, 8192, 100, rules);
  append_rules({{32, kRule}}, 8192, 12288, 100, rules);
  EXPECT_THAT(rules, ElementsAre(IsRule(0u, 0u), IsRule(4096u, kRule), IsRule(4112u, std::uint64_t{KEVT_STACK_LAST}),
                                 IsRule(8192u, 0u), IsRule(8224u, kRule), IsRule(12288u, 0u)));
}

TEST(FrameRules, AModuleWithoutRoomOrBehindHasNone) {
  std::vector<kevt_stack_rule> rules = {{0, KEVT_STACK_NO_RULE}};
  append_rules({{0, kRule}, {16, kRule}}, 4096, 8192, 4, rules);
  append_rules({}, 8192, 12288, 100, rules);
  append_rules({{0, kRule}}, 4096, 8192, 100, rules);
  EXPECT_THAT(rules, ElementsAre(IsRule(0u, 0u), IsRule(12288u, 0u)));
}

// The modules of this process.
class FrameRowsTest : public testing::Test {
 protected:
  FrameRowsTest() {
    static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .section_address = nullptr,
                                              .debuginfo_path = nullptr};
    dwfl_.reset(dwfl_begin(&kCallbacks));
    EXPECT_EQ(dwfl_linux_proc_report(dwfl_.get(), getpid()), 0);
    EXPECT_EQ(dwfl_report_end(dwfl_.get(), nullptr, nullptr), 0);
    module_ = dwfl_addrmodule(dwfl_.get(), reinterpret_cast<std::uint64_t>(&dwfl_begin));
    EXPECT_NE(module_, nullptr);
  }
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::unique_ptr<Dwfl, End> dwfl_;
  Dwfl_Module* module_ = nullptr;
};

TEST_F(FrameRowsTest, AreSortedAndMostlyRules) {
  const auto rows = frame_rows(module_, 1 << 20, kEnoughNs);
  ASSERT_GT(rows.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &FrameRow::offset));
  EXPECT_EQ(std::ranges::adjacent_find(rows, {}, &FrameRow::offset), rows.end());
  EXPECT_LT(std::ranges::count(rows, std::uint64_t{KEVT_STACK_NO_RULE}, &FrameRow::rule) * 4, std::ssize(rows));
}

TEST_F(FrameRowsTest, AreNoneWhereTheyAreTooMany) { EXPECT_THAT(frame_rows(module_, 1000, kEnoughNs), IsEmpty()); }

TEST_F(FrameRowsTest, EndWhenTheTimeIsOver) {
  const auto rows = frame_rows(module_, 1 << 20, 0);
  ASSERT_FALSE(rows.empty());
  EXPECT_LT(rows.size(), 4u);
  EXPECT_EQ(rows.back().rule, std::uint64_t{KEVT_STACK_NO_RULE});
}

}  // namespace
}  // namespace kevt::target
