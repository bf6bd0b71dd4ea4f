#include "compiler/script/import_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::script {
namespace {

using testing::HasSubstr;

std::string script_of(std::string_view text) {
  const ImportResult result = import_shell(text);
  for (const ImportMistake& mistake : result.mistakes)
    ADD_FAILURE() << mistake.line << ": " << mistake.diagnostic.command << ": " << mistake.diagnostic.detail;
  return result.script;
}

// The line and the detail of the only mistake.
std::string mistake_of(std::string_view text) {
  const ImportResult result = import_shell(text);
  if (result.mistakes.size() != 1) return "mistakes: " + std::to_string(result.mistakes.size());
  return std::to_string(result.mistakes[0].line) + ": " + result.mistakes[0].diagnostic.detail;
}

TEST(ShellImport, TheUsualFile) {
  EXPECT_EQ(script_of("#!/bin/sh\n"
                      "cd /sys/kernel/debug/tracing\n"
                      "echo > kprobe_events\n"
                      "# who reads much\n"
                      "echo 'p:rd vfs_read n=%dx:u64' >> kprobe_events\n"
                      "echo \"r:done vfs_read ret=\\$retval\" >> kprobe_events\n"
                      "echo 'n > 4096' > events/kprobes/rd/filter\n"
                      "echo 'stacktrace:5' > events/kprobes/rd/trigger\n"
                      "echo 1 > events/kprobes/rd/enable\n"
                      "echo 1 > events/kprobes/done/enable\n"
                      "echo 8192 > buffer_size_kb\n"
                      "echo mono > trace_clock\n"
                      "sleep 2\n"
                      "cat trace > out.txt\n"
                      "echo 0 > events/kprobes/rd/enable\n"
                      "echo > kprobe_events\n"),
            "target kernel\noption buffer 8192\noption clock mono\noption duration 2\noption output out.txt\n\n"
            "# who reads much\np:rd vfs_read n=%dx:u64\n  filter n > 4096\n  trigger stacktrace:5\n\n"
            "r:done vfs_read ret=$retval\n");
}

TEST(ShellImport, DeletionsAndTruncationAct) {
  EXPECT_EQ(script_of("echo 'p:a f' > kprobe_events\necho 'p:b f' >> kprobe_events\necho '-:a' >> kprobe_events\n"),
            "target kernel\n\np:b f\n");
  EXPECT_EQ(script_of("echo 'p:a f' > kprobe_events\necho 'p:b f' > kprobe_events\n"), "target kernel\n\np:b f\n");
  EXPECT_EQ(script_of("echo 'p:g/a f' >> dynamic_events\necho '-:g/' >> dynamic_events\necho p:c f >>dynamic_events"),
            "target kernel\n\np:c f\n");
}

TEST(ShellImport, WhatIsNotEnabledIsOffWhereSomethingIs) {
  EXPECT_EQ(script_of("echo 'p:a f' >> kprobe_events; echo 'p:b f' >> kprobe_events\n"
                      "echo 1 > events/kprobes/b/enable\n"),
            "target kernel\n\np:a f\n  enable 0\n\np:b f\n");
  EXPECT_EQ(script_of("echo 'p:a f' >> kprobe_events\necho 1 > events/kprobes/enable\n"), "target kernel\n\np:a f\n");
}

TEST(ShellImport, OtherWaysToWrite) {
  const char* expected = "target kernel\n\np:a f\n";
  for (const char* text :
       {"echo p:a f | sudo tee -a /t/kprobe_events >/dev/null\n", "sudo sh -c \"echo 'p:a f' >> /t/kprobe_events\"\n",
        "printf 'p:a f\\n' > kprobe_events\n", "cat <<'E' >> kprobe_events\np:a f\nE\n",
        "echo -e 'p:a f\\n' >> kprobe_events\n", "T=/x\necho 'p:a f' >> \"$T\"/kprobe_events\n",
        ">>kprobe_events echo p:a f", "echo 'p:a f # why' >> ${TRACING:-/sys/kernel/tracing}/kprobe_events\n"}) {
    EXPECT_EQ(script_of(text), expected) << text;
  }
}

TEST(ShellImport, SyntheticStaticAndUserEvents) {
  EXPECT_EQ(script_of("echo 'lat u64 d; pid_t pid' >> synthetic_events\n"), "s:lat u64 d; pid_t pid\n");
  EXPECT_EQ(script_of("echo sched:sched_switch >> set_event\n"), "target kernel\n\nevent sched/sched_switch\n");
  EXPECT_EQ(script_of("echo 'p:a /bin/bash:0x4245c0' > uprobe_events\n"),
            "target file /bin/bash\n\np:a /bin/bash:0x4245c0\n");
}

TEST(ShellImport, InstancesHaveSwitchesFiltersTriggersAndAnOutput) {
  EXPECT_EQ(script_of("cd /sys/kernel/tracing\n"
                      "echo 'p:rd vfs_read n=%dx:u64' >> kprobe_events\n"
                      "mkdir -p instances/large instances/tasks\n"
                      "echo 'n > 4096' > instances/large/events/kprobes/rd/filter\n"
                      "echo stacktrace > instances/large/events/kprobes/rd/trigger\n"
                      "echo 1 > instances/large/events/kprobes/enable\n"
                      "echo sched:sched_switch > instances/tasks/set_event\n"
                      "echo 1 > instances/tasks/tracing_on\n"
                      "sleep 2\n"
                      "cat instances/large/trace > large.txt\n"
                      "echo 0 > instances/large/events/kprobes/enable\n"
                      "rmdir instances/large\n"
                      "echo > kprobe_events\n"),
            "target kernel\noption duration 2\n\np:rd vfs_read n=%dx:u64\n  enable 0\n\n"
            "instance large output large.txt\n\nevent kprobes/rd\n  filter n > 4096\n  trigger stacktrace\n\n"
            "instance tasks\n\nevent sched/sched_switch\n");
}

TEST(ShellImport, WhatGoesGoesInItsInstances) {
  EXPECT_EQ(script_of("echo 'p:a f' >> kprobe_events\necho 'p:b f' >> kprobe_events\nmkdir instances/i instances/j\n"
                      "echo 'kprobes:a' >> instances/i/set_event\necho b >> instances/i/set_event\n"
                      "echo 1 > instances/j/events/kprobes/b/enable\necho -:a >> kprobe_events\nrmdir instances/j\n"
                      "echo 1 > events/kprobes/b/enable\n"),
            "target kernel\n\np:b f\n\ninstance i\n\nevent kprobes/b\n");
  EXPECT_EQ(script_of("echo 'p:a f' > kprobe_events\necho a > instances/i/set_event\necho 'p:c f' > kprobe_events\n"),
            "target kernel\n\np:c f\n\ninstance i\n");
  EXPECT_EQ(script_of("echo 'p:a /bin/sh:0x10' > uprobe_events\necho 1 > instances/i/events/uprobes/a/enable\n"),
            "target file /bin/sh\n\np:a /bin/sh:0x10\n  enable 0\n\ninstance i\n\nevent uprobes/a\n");
}

TEST(ShellImport, OfInstancesNotAllIsAScripts) {
  EXPECT_EQ(mistake_of("echo 64 > instances/i/buffer_size_kb\n"),
            "1: clock and size of the buffers are those of the whole script");
  EXPECT_EQ(mistake_of("echo 'p:a f' > instances/i/kprobe_events\n"),
            "1: `instances/i/kprobe_events` is no file that a script can set");
  EXPECT_EQ(mistake_of("mkdir other\n"), "1: `mkdir` is not run; `kevtrace run -p SCRIPT -- CMD` runs a program");
}

TEST(ShellImport, TriggersAreSetAndTaken) {
  EXPECT_EQ(script_of("echo 'p:a f x=%di' > kprobe_events\nT=events/kprobes/a/trigger\necho 'traceoff:3' > $T\n"
                      "echo 'hist:keys=x' >> $T\necho '!traceoff' >> $T\n"),
            "target kernel\n\np:a f x=%di\n  trigger hist:keys=x\n");
}

TEST(ShellImport, WhatIsNotUnderstoodHasItsLine) {
  EXPECT_EQ(mistake_of("\n./server --fast\n"),
            "2: `./server` is not run; `kevtrace run -p SCRIPT -- CMD` runs a program");
  EXPECT_EQ(mistake_of("echo \"r:a f $retval\" >> kprobe_events\n"),
            "1: the shell would replace `$retval`; write the text in '...'");
  EXPECT_EQ(mistake_of("for f in a b; do\n  echo \"p:$f $f\" >> kprobe_events\ndone\necho 'p:c f' >> kprobe_events\n"),
            "1: a shell's construct up to line 3");
  EXPECT_EQ(mistake_of("case $1 in\na) echo 'p:a f' >> kprobe_events;;\nesac\n"),
            "1: a shell's construct up to line 3");
  EXPECT_EQ(mistake_of("start() {\n echo 'p:a f' >> kprobe_events\n}\n"), "1: a shell's construct up to line 3");
  EXPECT_EQ(mistake_of("echo 1 > /proc/sys/kernel/panic\n"),
            "1: `/proc/sys/kernel/panic` is no file that a script can set");
  EXPECT_EQ(mistake_of("echo 1 > events/sched/enable\n"), "1: the events of `sched` are not defined here; name each");
  EXPECT_EQ(mistake_of("echo 'p:a f > kprobe_events\n"), "1: a quote is not closed");
}

TEST(ShellImport, AWrongDefinitionIsKeptAndSaid) {
  const ImportResult result = import_shell("echo 'p:a f %zz' >> kprobe_events\n");
  ASSERT_EQ(result.mistakes.size(), 1u);
  EXPECT_EQ(result.mistakes[0].diagnostic.kind, diag::Kind::BadRegName);
  EXPECT_THAT(result.script, HasSubstr("p:a f %zz\n"));
}

}  // namespace
}  // namespace kevt::script
