#include "compiler/script/format.h"

#include <gtest/gtest.h>

#include "grammar/parse_script.h"

namespace kevt::script {
namespace {

std::string format(std::string_view text) {
  std::vector<grammar::ScriptMistake> mistakes;
  return format_script(grammar::parse_script(text, mistakes));
}

TEST(ScriptFormat, OnlyBlanksChange) {
  EXPECT_EQ(
      format("\n\n#what\n  target   program  ls '-l  x'  \n\n\n\n\tp:a   f  x=%di:u8#why\nfilter  s == \"a  b\"   #no\n"
             "# for the trigger\n      trigger  traceoff:1   if x>1\nenable 0\n  instance  e   output  'a  b'\nevent  "
             "a/b\n\n"),
      "# what\ntarget program ls '-l  x'\n\np:a f x=%di:u8  # why\n  filter s == \"a  b\"  # no\n"
      "  # for the trigger\n  trigger traceoff:1 if x>1\n  enable 0\ninstance e output 'a  b'\nevent a/b\n");
}

TEST(ScriptFormat, CanonicalTextStays) {
  const std::string text = "#!/usr/bin/env kevtrace\n## head\n\np:a f\n  filter x == 1\n\n# tail\n";
  EXPECT_EQ(format(text), text);
  EXPECT_EQ(format(""), "");
  EXPECT_EQ(format("\n \n"), "");
}

TEST(ScriptFormat, EscapedBlanksStay) { EXPECT_EQ(format("target program a\\   b\n"), "target program a\\  b\n"); }

}  // namespace
}  // namespace kevt::script
