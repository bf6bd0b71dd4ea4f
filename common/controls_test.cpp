#include "common/controls.h"

#include <gtest/gtest.h>

namespace kevt {
namespace {

using namespace std::string_literals;

TEST(Escaped, WritesControlCharactersAsOctal) {
  EXPECT_EQ(escaped("a\n\tb\033[2J\a\x7f\0c"s), R"(a\012\011b\033[2J\007\177\000c)");
}

TEST(Escaped, LeavesTextAndBackslashesAlone) {
  for (const char* text : {"", "plain \\033 text", "naïve", "日本", "\xf0\x9f\x98\x80", "\xc2\xa0"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Escaped, WritesControlsOfTheSecondBlockWhateverTheirForm) {
  EXPECT_EQ(escaped("\x9b"
                    "31m"),
            R"(\23331m)");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            R"(\302\23331m)");
  EXPECT_EQ(escaped("\xc3\x9b"), "\xc3\x9b");  // Û
}

TEST(Escaped, WritesBytesThatAreNoUtf8) {
  EXPECT_EQ(escaped("\xff"), R"(\377)");
  EXPECT_EQ(escaped("\xc3"), R"(\303)");
  EXPECT_EQ(escaped("\xe2\x9b"), R"(\342\233)");
  EXPECT_EQ(escaped("\xc0\x9b"), R"(\300\233)");          // overlong
  EXPECT_EQ(escaped("\xe0\x80\x9b"), R"(\340\200\233)");  // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80"), R"(\355\240\200)");  // half of a pair
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), R"(\364\220\200\200)");
  EXPECT_EQ(escaped("\xe2\x1b[m"), R"(\342\033[m)");
}

TEST(Escaped, WritesWhatTurnsTextRound) {
  EXPECT_EQ(escaped("\xe2\x80\xae"
                    "cba"),
            R"(\342\200\256cba)");
  EXPECT_EQ(escaped("\xe2\x81\xa6"), R"(\342\201\246)");
}

// Whatever the bytes: nothing is left that a terminal obeys, and what was clean is unchanged.
TEST(Escaped, IsCleanForAllPairsOfBytes) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string out = escaped(std::string{static_cast<char>(a), static_cast<char>(b)});
      EXPECT_EQ(escaped(out), out);
      for (std::string_view rest = out; !rest.empty();) {
        char32_t code = 0;
        const std::size_t length = decode_utf8(rest, code);
        ASSERT_GT(length, 0u);
        ASSERT_FALSE(is_control(code));
        rest.remove_prefix(length);
      }
    }
}

TEST(EscapedLines, KeepsLineEndsAndTabs) {
  EXPECT_EQ(escaped_lines("a\tb\n\033c\n"), "a\tb\n\\033c\n");
  EXPECT_EQ(escaped_lines(""), "");
}

TEST(EscapeFrom, ChangesWhatIsBehindOnly) {
  std::string text = "\033a\nb\033";
  escape_from(2, Controls::Raw, text);
  EXPECT_EQ(text, "\033a\nb\033");
  escape_from(2, Controls::Escaped, text);
  EXPECT_EQ(text, "\033a\\012b\\033");
}

TEST(ControlsFor, FilesAreRawUnlessAskedFor) {
  EXPECT_EQ(controls_for(-1), Controls::Raw);
  choose_escaping(EscapeWhen::Always);
  EXPECT_EQ(controls_for(-1), Controls::Escaped);
  choose_escaping(EscapeWhen::Auto);
}

}  // namespace
}  // namespace kevt
