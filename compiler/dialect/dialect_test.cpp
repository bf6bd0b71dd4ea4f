#include "compiler/dialect/dialect.h"

#include <gmock/gmock.h>

#include <set>

namespace kevt::dialect {
namespace {

TEST(Dialect, AKernelHasWhatBeganBeforeItAndDidNotEnd) {
  EXPECT_FALSE(Dialect::of(Kernel::Linux6_1).has(Feature::FprobeMaxactive));
  EXPECT_TRUE(Dialect::of(Kernel::Linux6_12).has(Feature::FprobeMaxactive));
  EXPECT_FALSE(Dialect::of(Kernel::Linux7_2).has(Feature::FprobeMaxactive));
  EXPECT_TRUE(Dialect::of(Kernel::Linux6_1).has(Feature::SymbolOnUprobe));
  EXPECT_FALSE(Dialect::of(Kernel::Linux6_12).has(Feature::SymbolOnUprobe));
  EXPECT_TRUE(Dialect::of(Kernel::Newest).has(Feature::CurrentTask));
  EXPECT_FALSE(Dialect::of(Kernel::Linux7_2).has(Feature::CurrentTask));
}

TEST(Dialect, TheSupersetHasEveryFormAndTheNewestRules) {
  for (std::size_t i = 0; i < feature_count(); ++i) {
    const auto feature = static_cast<Feature>(i);
    const bool expected = feature_row(feature).sort == Sort::Form || Dialect::of(Kernel::Newest).has(feature);
    EXPECT_EQ(Dialect::superset().has(feature), expected) << feature_row(feature).name;
  }
}

TEST(Dialect, WhatWeRunOnEveryKernelExtendsIt) {
  const Dialect extended = Dialect::extended(Kernel::Linux6_1);
  EXPECT_TRUE(extended.has(Feature::Fprobes) && extended.has(Feature::Tprobes) && extended.has_own_forms());
  EXPECT_FALSE(extended.has(Feature::CharType)) << "a type that 6.1 has not";
  EXPECT_EQ(extended.version(), version_of(Kernel::Linux6_1));
  EXPECT_FALSE(Dialect::extended(Kernel::Linux6_12).has(Feature::OneTracepointProbe)) << "ours take any number";
  EXPECT_FALSE(Dialect::of(Kernel::Linux6_12).has_own_forms());
  EXPECT_TRUE(Dialect::superset().has_own_forms());
}

TEST(Dialect, RowsAreDistinctAndDistinguishSomeKernels) {
  std::set<std::string_view> texts;
  for (std::size_t i = 0; i < feature_count(); ++i) {
    const auto feature = static_cast<Feature>(i);
    EXPECT_TRUE(texts.insert(feature_row(feature).text).second) << feature_row(feature).name;
    std::set<bool> answers;
    for (const Kernel kernel : kKernels) answers.insert(Dialect::of(kernel).has(feature));
    EXPECT_EQ(answers.size(), 2u) << feature_row(feature).name << " is the same in all kernels";
  }
}

TEST(Dialect, SaysSinceWhen) {
  EXPECT_EQ(when_text(Feature::AllArguments), "exists since Linux 6.5");
  EXPECT_EQ(when_text(Feature::FprobeMaxactive), "existed up to Linux 6.12");
  EXPECT_EQ(version_text(version_of(Kernel::Linux6_12)), "6.12");
  EXPECT_THAT(feature_table(), testing::HasSubstr("| `$current` | – | – | – | yes | since 7.3 |\n"));
}

}  // namespace
}  // namespace kevt::dialect
