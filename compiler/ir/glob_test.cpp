#include <gtest/gtest.h>

#include "compiler/ir/interpreter.h"

namespace kevt::ir {
namespace {

using model::GlobKind;

struct Row {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(MatchText, GlobTable) {
  const Row rows[] = {
      {"", "", true},
      {"", "a", false},
      {"a", "", false},
      {"abc", "abc", true},
      {"abc", "abcd", false},
      {"*", "", true},
      {"*", "abc", true},
      {"**", "abc", true},
      {"a*", "a", true},
      {"a*c", "abbc", true},
      {"a*c", "abbcd", false},
      {"*b*", "abc", true},
      {"?", "", false},
      {"?", "a", true},
      {"a?c", "abc", true},
      {"*?", "", false},
      {"[a-c]", "b", true},
      {"[a-c]", "d", false},
      {"[!a-c]", "d", true},
      {"[!a-c]", "b", false},
      {"[!a]", "", false},
      {"[]]", "]", true},
      {"[]a]", "a", true},
      {"[a-]", "-", true},
      {"[!]]", "]", false},
      {"[!]]", "a", true},
      {"[", "[", true},
      {"[a", "[a", true},
      {"[a-", "[a-", true},
      {"[c-a]", "b", false},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"a\\", "a", true},
      {"a\\", "a\\", false},
      {"[\\]", "\\", true},
      {"*a*a*b", "aaaaab", true},
      {"*ab*cd", "xabyabcd", true},
      {"*.so.?", "libc.so.6", true},
      {"[\x80-\xff]", "\xc3", true},
      {"*[!0-9]", "a1", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(match_text(GlobKind::Glob, row.pattern, row.text), row.matches) << row.pattern << " on " << row.text;
}

TEST(MatchText, PlainKinds) {
  EXPECT_TRUE(match_text(GlobKind::Full, "ab*", "ab*"));
  EXPECT_FALSE(match_text(GlobKind::Full, "ab", "abc"));
  EXPECT_TRUE(match_text(GlobKind::Prefix, "ab", "abc"));
  EXPECT_FALSE(match_text(GlobKind::Prefix, "bc", "abc"));
  EXPECT_TRUE(match_text(GlobKind::Suffix, "bc", "abc"));
  EXPECT_FALSE(match_text(GlobKind::Suffix, "aabc", "abc"));
  EXPECT_TRUE(match_text(GlobKind::Middle, "b", "abc"));
  EXPECT_FALSE(match_text(GlobKind::Middle, "ac", "abc"));
}

TEST(MatchText, ManyStarsOnALongTextEnd) {
  const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(match_text(GlobKind::Glob, pattern, std::string(4095, 'a')));
}

}  // namespace
}  // namespace kevt::ir
