#include "compiler/script/shell_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::script {
namespace {

using testing::ElementsAre;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const ShellCommand& command : read_shell(text)) {
    for (const ShellWord& word : command.words) out.push_back(word.text);
    out.push_back(";");
  }
  return out;
}

TEST(ShellCommands, QuotesAndEscapes) {
  EXPECT_THAT(words(R"(echo 'a "b"  $c' "d 'e' \"f\"" g\ h i'j'"k")"),
              ElementsAre("echo", "a \"b\"  $c", "d 'e' \"f\"", "g h",
                          "ij"
                          "k",
                          ";"));
}

TEST(ShellCommands, SeparatorsAndContinuedLines) {
  EXPECT_THAT(words("a; b && c || d & e |f\\\n g\nh"),
              ElementsAre("a", ";", "b", ";", "c", ";", "d", ";", "e", ";", "f", "g", ";", "h", ";"));
}

TEST(ShellCommands, VariablesThatWereAssigned) {
  const auto commands = read_shell("T=/t\nexport E='x y'\necho $T/a \"${E}\" $F '$T'\n");
  const ShellCommand& echo = commands.back();
  EXPECT_EQ(echo.line, 3);
  EXPECT_EQ(echo.words[1].text, "/t/a");
  EXPECT_EQ(echo.words[2].text, "x y");
  EXPECT_EQ(echo.words[3].unknown, "$F");
  EXPECT_EQ(echo.words[4].text, "$T");
  EXPECT_FALSE(echo.words[4].unknown);
}

TEST(ShellCommands, WhatWouldHaveToRunIsUnknown) {
  const auto commands = read_shell("echo $(id -u) \"a`b`\" ${X:-/s}/f $1 $$\n");
  for (std::size_t i = 1; i < commands[0].words.size(); ++i) EXPECT_TRUE(commands[0].words[i].unknown) << i;
  EXPECT_EQ(commands[0].words[3].text, "${X:-/s}/f");
}

TEST(ShellCommands, Redirections) {
  const auto commands = read_shell("echo a>f 2>/dev/null >>g 2>&1 <h\n");
  const auto& redirects = commands[0].redirects;
  ASSERT_EQ(redirects.size(), 5u);
  EXPECT_EQ(redirects[0].target.text, "f");
  EXPECT_EQ(redirects[0].kind, RedirectKind::Truncate);
  EXPECT_EQ(redirects[1].descriptor, 2);
  EXPECT_EQ(redirects[2].kind, RedirectKind::Append);
  EXPECT_EQ(redirects[3].kind, RedirectKind::Other);
  EXPECT_EQ(redirects[4].descriptor, 0);
  EXPECT_EQ(commands[0].words.size(), 2u);
}

TEST(ShellCommands, HereDocuments) {
  const auto commands = read_shell("V=1\ncat <<E >f\nx $V\nE\ncat <<-'E' >f\n\t$V\n\tE\nlast\n");
  EXPECT_EQ(commands[1].redirects[0].target.text, "x 1\n");
  EXPECT_EQ(commands[2].redirects[0].target.text, "$V\n");
  EXPECT_EQ(commands[3].line, 8);
}

TEST(ShellCommands, WhatDoesNotEndIsSaid) {
  EXPECT_FALSE(read_shell("echo 'a\nb").back().broken.empty());
  EXPECT_FALSE(read_shell("cat <<E\nb\n").back().broken.empty());
}

TEST(ShellCommands, VariablesDoNotGrowWithoutEnd) {
  std::string text = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 100; ++i) text += "A=$A$A\n";
  EXPECT_LT(read_shell(text).back().words[0].text.size(), 300000u);
}

}  // namespace
}  // namespace kevt::script
