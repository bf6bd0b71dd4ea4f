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

// The obvious recursive matcher, straight over the characters: what match_text is held to.
struct Class {
  const char* end = nullptr;  // behind the `]`; null: not closed
  bool holds = false;
};

Class naive_class(const char* p, char c) {
  const auto byte = [](char x) { return static_cast<unsigned char>(x); };
  const bool inverted = *p == '!';
  if (inverted) ++p;
  bool found = false;
  for (bool first = true; first || *p != ']'; first = false) {
    if (*p == 0) return {};
    const char low = *p++;
    char high = low;
    if (p[0] == '-' && p[1] != ']') {
      if (p[1] == 0) return {};
      high = p[1];
      p += 2;
    }
    found = found || (byte(low) <= byte(c) && byte(c) <= byte(high));
  }
  return {p + 1, found != inverted};
}

bool naive_glob(const char* p, const char* t) {
  if (*p == 0) return *t == 0;
  if (*p == '*') return naive_glob(p + 1, t) || (*t != 0 && naive_glob(p, t + 1));
  if (*p == '?') return *t != 0 && naive_glob(p + 1, t + 1);
  if (*p == '[') {
    const Class in = naive_class(p + 1, *t);
    if (in.end != nullptr) return *t != 0 && in.holds && naive_glob(in.end, t + 1);
  }
  if (*p == '\\') {
    if (p[1] == 0) return *t == 0;
    ++p;
  }
  return *p == *t && naive_glob(p + 1, t + 1);
}

std::vector<std::string> all_strings(std::string_view alphabet, std::size_t longest) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < all.size() && all[i].size() < longest; ++i)
    for (const char c : alphabet) all.push_back(all[i] + c);
  return all;
}

TEST(MatchText, AgreesWithTheObviousMatcherOnEverythingShort) {
  const std::vector<std::string> texts = all_strings("ab-]", 3);
  for (const std::string& pattern : all_strings("ab*?[]!-\\", 4))
    for (const std::string& text : texts)
      ASSERT_EQ(match_text(GlobKind::Glob, pattern, text), naive_glob(pattern.c_str(), text.c_str()))
          << pattern << " on " << text;
}

}  // namespace
}  // namespace kevt::ir
