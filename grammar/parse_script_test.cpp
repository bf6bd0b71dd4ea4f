#include "grammar/parse_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::Script;
using model::ScriptWord;
using testing::ElementsAre;

struct Read {
  Script script;
  std::vector<ScriptMistake> mistakes;
};

Read read(std::string_view text) {
  Read out;
  out.script = parse_script(text, out.mistakes);
  return out;
}

// The only mistake, or none.
std::optional<Kind> script_mistake_of(std::string_view text) {
  const Read out = read(text);
  if (out.mistakes.size() != 1) return std::nullopt;
  return out.mistakes.front().diagnostic.kind;
}

TEST(ScriptParser, ReadsEveryWord) {
  const Read out = read(
      "# why\n"
      "target program /bin/ls '-l' \"a b\"  # what\n"
      "option count 5\n"
      "p:g/a libc:open64 x=%di:u8 # kernel's comment\n"
      "  filter x > 3 && s ~ \"#*\"\n"
      "  trigger stacktrace\n"
      "  trigger traceoff:1\n"
      "  enable 0\n"
      "\n"
      "event sched/sched_switch\n");
  ASSERT_TRUE(out.mistakes.empty());
  ASSERT_EQ(out.script.events.size(), 2u);
  const model::ScriptEvent& event = out.script.events[0];
  EXPECT_EQ(out.script.lines[event.line].body_text(), "p:g/a libc:open64 x=%di:u8");
  EXPECT_EQ(out.script.lines[event.line].comment_text(), "# kernel's comment");
  EXPECT_EQ(out.script.lines[event.filter.value()].body_text(), "x > 3 && s ~ \"#*\"");
  EXPECT_EQ(event.triggers.size(), 2u);
  EXPECT_FALSE(event.enabled);
  EXPECT_TRUE(out.script.events[1].enabled);
  EXPECT_THAT(std::get<model::ProgramTarget>(*out.script.target).command, ElementsAre("/bin/ls", "-l", "a b"));
  EXPECT_EQ(out.script.options.count, 5u);
}

TEST(ScriptParser, DefinitionsStayAsTheyAre) {
  for (const char* line : {"p f", "r10:a f", "r:a/b f%return", "e:a b.c", "f:x y", "f10 y", "t:x y", "s:x int a",
                           "w:a r@0", "-:a/b", "!x:y", "p", "frob", "rubbish:x", "p:a f # c", "x"}) {
    const Read out = read(line);
    EXPECT_TRUE(out.mistakes.empty()) << line;
    EXPECT_EQ(out.script.lines[0].word, ScriptWord::Definition) << line;
  }
}

TEST(ScriptParser, ATargetChoosesProcesses) {
  const Read out = read("target container 3f2a5b comm 'worker *' comm nginx cgroup /system.slice\np f\n");
  ASSERT_TRUE(out.mistakes.empty());
  const auto& chosen = std::get<model::ChosenTarget>(*out.script.target);
  EXPECT_THAT(chosen.comms, ElementsAre("worker *", "nginx"));
  EXPECT_THAT(chosen.cgroups, ElementsAre("/system.slice"));
  EXPECT_THAT(chosen.containers, ElementsAre("3f2a5b"));
}

TEST(ScriptParser, MisspeltWordIsSaidWithTheRightOne) {
  const Read out = read("p f\n  fliter x > 1\n");
  ASSERT_EQ(out.mistakes.size(), 1u);
  EXPECT_EQ(out.mistakes[0].line, 2);
  EXPECT_EQ(out.mistakes[0].diagnostic.kind, Kind::ScriptUnknownWord);
  EXPECT_EQ(out.mistakes[0].diagnostic.column, 2u);
  EXPECT_EQ(out.mistakes[0].diagnostic.fixits.at(0).replacement, "filter");
}

TEST(ScriptParser, MistakesAreSaidOnceEach) {
  EXPECT_EQ(script_mistake_of("target"), Kind::ScriptNothingFollows);
  EXPECT_EQ(script_mistake_of("target moon"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target kernel 6.1"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target pid 1,x"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target pid 1,"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target file libc.so"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target program 'ls"), Kind::ScriptOpenQuote);
  EXPECT_EQ(script_mistake_of("target comm"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target comm nginx cgroup"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target comm nginx user www"), Kind::ScriptBadTarget);
  EXPECT_EQ(script_mistake_of("target container \"3f2a"), Kind::ScriptOpenQuote);
  EXPECT_EQ(script_mistake_of("target kernel\ntarget kernel"), Kind::ScriptTwice);
  EXPECT_EQ(script_mistake_of("option colour red"), Kind::ScriptBadOption);
  EXPECT_EQ(script_mistake_of("option count 1\noption count 2"), Kind::ScriptTwice);
  EXPECT_EQ(script_mistake_of("filter x"), Kind::ScriptNoEvent);
  EXPECT_EQ(script_mistake_of("-:a\nfilter x"), Kind::ScriptNoEvent);
  EXPECT_EQ(script_mistake_of("event 1x"), Kind::ScriptBadEvent);
  EXPECT_EQ(script_mistake_of("p f\nenable yes"), Kind::ScriptBadEnable);
  EXPECT_EQ(script_mistake_of("p f\nenable 0\nenable 1"), Kind::ScriptTwice);
  EXPECT_EQ(script_mistake_of("p f\nfilter a\nfilter b"), Kind::ScriptTwice);
  EXPECT_EQ(script_mistake_of("p f\ntrigger# stacktrace"), Kind::ScriptNothingFollows);
}

TEST(ScriptParser, ValuesOfOptions) {
  const Read out = read("option buffer 8M\noption duration 250ms\noption clock mono\noption output 'a b'\n");
  EXPECT_TRUE(out.mistakes.empty());
  EXPECT_EQ(out.script.options.buffer_kb, 8192u);
  EXPECT_EQ(out.script.options.seconds, 0.25);
  EXPECT_EQ(out.script.options.output, "a b");
  for (const char* wrong : {"buffer 1", "buffer 0x100", "buffer 99999999999999999999", "duration -1", "duration 1h",
                            "duration nan", "duration 0", "count 0", "count 1.5", "clock sun", "output a b", "count"}) {
    EXPECT_EQ(script_mistake_of(std::string("option ") + wrong), Kind::ScriptBadValue) << wrong;
  }
}

TEST(ScriptParser, HowIsRecorded) {
  const Read out = read(
      "option event-pid 7,12\noption stack 1\noption overwrite 0\noption follow-forks 1\noption with-kernel bpf\n");
  EXPECT_TRUE(out.mistakes.empty());
  EXPECT_THAT(out.script.options.event_pids.value(), ElementsAre(7, 12));
  EXPECT_EQ(out.script.options.stack, true);
  EXPECT_EQ(out.script.options.overwrite, false);
  EXPECT_EQ(out.script.options.follow_forks, true);
  EXPECT_EQ(out.script.options.with_kernel, "bpf");
  for (const char* wrong :
       {"event-pid 7,", "event-pid x", "event-pid 0", "stack yes", "overwrite 2", "follow-forks on", "with-kernel 1"})
    EXPECT_EQ(script_mistake_of(std::string("option ") + wrong), Kind::ScriptBadValue) << wrong;
  EXPECT_EQ(script_mistake_of("option stack 1\noption stack 1"), Kind::ScriptTwice);
}

TEST(ScriptParser, WhatStandsBelowAnInstanceIsItsOwn) {
  const Read out =
      read("p:a f\ninstance errors output 'e 1.dat'  # why\nevent a\n  filter x > 1\np:b f\ninstance c\nevent a\n");
  EXPECT_TRUE(out.mistakes.empty());
  ASSERT_EQ(out.script.instances.size(), 2u);
  EXPECT_EQ(out.script.instances[0].name, "errors");
  EXPECT_EQ(out.script.instances[0].output, "e 1.dat");
  EXPECT_EQ(out.script.instances[1].output, std::nullopt);
  ASSERT_EQ(out.script.events.size(), 4u);
  EXPECT_EQ(out.script.events[0].instance, std::nullopt);
  EXPECT_EQ(out.script.events[1].instance, 0u);
  EXPECT_EQ(out.script.events[2].instance, 0u);
  EXPECT_EQ(out.script.events[3].instance, 1u);
  for (const char* wrong : {"instance a/b", "instance ''", "instance ..", "instance 'a\tb'", "instance a b",
                            "instance a output", "instance a output ''", "instance 'a", "instance a output x y"})
    EXPECT_EQ(script_mistake_of(wrong), Kind::ScriptBadInstance) << wrong;
  EXPECT_EQ(script_mistake_of("instance"), Kind::ScriptNothingFollows);
  EXPECT_EQ(script_mistake_of("p f\ninstance a\nfilter x"), Kind::ScriptNoEvent);
  EXPECT_EQ(script_mistake_of("instances a"), Kind::ScriptUnknownWord);
}

TEST(ScriptParser, AnInjectionBelongsToItsEvent) {
  const Read out = read("p f\n  inject ret=-1 count=3  # why\n");
  EXPECT_TRUE(out.mistakes.empty());
  ASSERT_EQ(out.script.events.size(), 1u);
  EXPECT_EQ(out.script.lines[out.script.events[0].injection.value()].body_text(), "ret=-1 count=3");
  EXPECT_EQ(script_mistake_of("inject ret=-1"), Kind::ScriptNoEvent);
  EXPECT_EQ(script_mistake_of("p f\ninject ret=1\ninject ret=2"), Kind::ScriptTwice);
}

TEST(ScriptParser, EndsOfLines) {
  const Read out = read("p f\r\n\tfilter a == 1\r\n");
  ASSERT_EQ(out.script.events.size(), 1u);
  EXPECT_EQ(out.script.lines[0].body_text(), "p f");
  EXPECT_EQ(out.script.lines[1].body_text(), "a == 1");
}

TEST(ScriptBlanks, AreSqueezedOutsideQuotes) {
  EXPECT_EQ(squeeze_blanks("  a   ==  \"b  c\"  ", Escapes::None), "a == \"b  c\"");
  EXPECT_EQ(squeeze_blanks("a  \\   b", Escapes::Backslash), "a \\  b");
  EXPECT_EQ(squeeze_blanks("\"a\\\"  b", Escapes::None), "\"a\\\" b");
}

}  // namespace
}  // namespace kevt::grammar
