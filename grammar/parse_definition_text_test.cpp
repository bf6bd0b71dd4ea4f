#include "grammar/parse_definition_text.h"

#include "grammar/parse.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace kevt::grammar {
namespace {

TEST(ParseUnsigned, FindsTheBase) {
  EXPECT_EQ(parse_unsigned("0x1F", kAutoBase).value, 31u);
  EXPECT_EQ(parse_unsigned("0X1f", kAutoBase).value, 31u);
  EXPECT_EQ(parse_unsigned("017", kAutoBase).value, 15u);
  EXPECT_EQ(parse_unsigned("+17", kAutoBase).value, 17u);
  EXPECT_EQ(parse_unsigned("18446744073709551615", kAutoBase).value, ~0ull);
}

TEST(ParseUnsigned, RefusesWhatTheKernelRefuses) {
  for (const char* text : {"", "0x", "08", "1a", "-1", " 1", "1 ", "++1", "x"}) {
    EXPECT_EQ(parse_unsigned(text, kAutoBase).error, EINVAL) << text;
  }
  EXPECT_EQ(parse_unsigned("18446744073709551616", kAutoBase).error, ERANGE);
}

TEST(ParseSigned, ReadsBothEnds) {
  EXPECT_EQ(parse_signed("-0x10", kAutoBase).value, static_cast<std::uint64_t>(-16));
  EXPECT_EQ(parse_signed("-9223372036854775808", kAutoBase).value, 1ull << 63);
  EXPECT_EQ(parse_signed("9223372036854775808", kAutoBase).error, ERANGE);
  EXPECT_EQ(parse_signed("-9223372036854775809", kAutoBase).error, ERANGE);
  EXPECT_EQ(parse_signed("--1", kAutoBase).error, EINVAL);
}

TEST(ParseLeading, StopsAtTheFirstOtherByte) {
  EXPECT_EQ(parse_leading("0x1g").used, 3u);
  EXPECT_EQ(parse_leading("12@3").value, 12u);
  EXPECT_EQ(parse_leading("@3").used, 0u);
}

TEST(Names, FollowTheKernelsRules) {
  EXPECT_TRUE(is_good_name("_a1"));
  EXPECT_TRUE(is_good_name("\xe9t\xe9"));  // Latin-1 letters are letters there
  EXPECT_FALSE(is_good_name("1a"));
  EXPECT_FALSE(is_good_name("a-b"));
  EXPECT_FALSE(is_good_name(""));
  EXPECT_TRUE(is_good_group("a-b"));
  EXPECT_FALSE(is_good_group("a.b"));
}

TEST(Words, AreJoinedWithSingleBlanks) {
  const Words words(" p\t x   a=1 ");
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words.command(), "p x a=1");
  EXPECT_EQ(words[1], "x");
  EXPECT_EQ(words.begin(2), 4u);
  EXPECT_EQ(words.begin(3), 8u);
  EXPECT_EQ(words.tail(1), "x a=1");
  EXPECT_EQ(words.tail(3), "");
}

TEST(SourceColumn, IsTheByteOfTheLineAsItWasWritten) {
  const std::string_view line = "  p:a \t f  x=%zz  if  a  == 1";
  const std::string command = Words(line).command();
  EXPECT_EQ(source_column(line, command, 0), 2u);
  EXPECT_EQ(source_column(line, command, 6), line.find("x=%zz"));
  EXPECT_EQ(source_column(line, command, 8), line.find("%zz"));
  EXPECT_EQ(source_column(line, "a == 1", 2), line.find("=="));
  EXPECT_EQ(source_column(line, line, 5), 5u);
  EXPECT_EQ(source_column("p f", "p f", 4), 4u) << "behind the end";
}

}  // namespace
}  // namespace kevt::grammar
