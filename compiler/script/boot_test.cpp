#include "compiler/script/boot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::script {
namespace {

using testing::HasSubstr;

std::expected<std::string, std::vector<grammar::ScriptMistake>> boot_of(std::string_view text) {
  std::vector<grammar::ScriptMistake> mistakes;
  const model::Script script = grammar::parse_script(text, mistakes);
  EXPECT_TRUE(mistakes.empty()) << text;
  return write_boot(script);
}

TEST(BootForm, IsReadWithOrWithoutItsName) {
  const std::string expected = "target kernel\n\np:myev vfs_read $arg1\n\nr:got vfs_read ret=$retval\n";
  EXPECT_EQ(import_boot("kprobe_event=p:myev,vfs_read,$arg1;r:got,vfs_read,ret=$retval\n").script, expected);
  EXPECT_EQ(import_boot("p:myev,vfs_read,$arg1;r:got,vfs_read,ret=$retval\n").script, expected);
}

TEST(BootForm, OtherParametersAreReadOrNamed) {
  const ImportResult read =
      import_boot("root=/dev/vda kprobe_event=p:a,f trace_buf_size=8M trace_clock=mono trace_event=sched:sched_switch");
  EXPECT_EQ(read.script, "target kernel\noption buffer 8192\noption clock mono\n\np:a f\n\nevent sched/sched_switch\n");
  ASSERT_EQ(read.notes.size(), 1u);
  EXPECT_THAT(read.notes[0].text, HasSubstr("`root=/dev/vda`"));
}

TEST(BootForm, TwoParametersAreJoinedAndSaid) {
  const ImportResult read = import_boot("kprobe_event=p:a,f kprobe_event=p:b,g");
  EXPECT_EQ(read.script, "target kernel\n\np:a f\n\np:b g\n");
  EXPECT_EQ(read.notes.size(), 1u);
}

TEST(BootForm, MistakesAreTheDefinitions) {
  const ImportResult read = import_boot("kprobe_event=p:a,f,%zz");
  ASSERT_EQ(read.mistakes.size(), 1u);
  EXPECT_EQ(read.mistakes[0].diagnostic.kind, diag::Kind::BadRegName);
}

TEST(BootForm, IsWrittenAndReadBack) {
  const std::string script =
      "target kernel\noption buffer 4096\noption clock boot\n\np:a vfs_read $arg1 n=%dx:u64\n\nr16:b vfs_read "
      "$retval\n";
  const auto boot = boot_of(script);
  ASSERT_TRUE(boot.has_value());
  EXPECT_EQ(*boot,
            "kprobe_event=p:a,vfs_read,$arg1,n=%dx:u64;r16:b,vfs_read,$retval trace_buf_size=4096K trace_clock=boot");
  EXPECT_EQ(import_boot(*boot).script, script);
}

TEST(BootForm, SaysWhatItCannotSay) {
  for (const char* text :
       {"target pid 1\n", "p:a /bin/ls:0x10\n", "p:a f x=\\\"a,b\"\n", "p:a f\nfilter common_pid > 1\n",
        "p:a f\ntrigger stacktrace\n", "p:a f\nenable 0\n", "p:a f\ninject ret=1\n", "event sched/sched_switch\n",
        "option count 3\n", "-:a\n", "instance a\n"}) {
    const auto boot = boot_of(text);
    ASSERT_FALSE(boot.has_value()) << text;
    EXPECT_EQ(boot.error().size(), 1u) << text;
    EXPECT_EQ(boot.error()[0].diagnostic.kind, diag::Kind::ScriptNotBoot) << text;
  }
}

TEST(BootForm, HasTheLengthOfACommandLine) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "p:a" + std::to_string(i) + " vfs_read\n";
  EXPECT_FALSE(boot_of(text).has_value());
}

}  // namespace
}  // namespace kevt::script
