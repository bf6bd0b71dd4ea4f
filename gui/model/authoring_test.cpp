// Writing definitions: names and members from types, what hovering tells, code, the same thing in a terminal, triggers.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include "compiler/target/fixed_target.h"
#include "compiler/target/types/btf.h"
#include "gui/model/apply_plan.h"
#include "gui/model/compiler_service.h"
#include "gui/model/event_tree.h"
#include "gui/model/export_as.h"
#include "gui/model/model_testing.h"
#include "gui/model/trigger_text.h"
#include "tests/golden/small_btf.h"

namespace kevt::gui {
namespace {

class GuiAuthoring : public ModelTest {
 protected:
  GuiAuthoring() {
    std::uint64_t address = 0x1000;
    for (const char* name : {"work", "nothing", "many"})
      env_.add_function({.name = name, .module = "", .address = address += 0x100, .size = 0x100});
    env_.set_types(std::make_shared<const target::TypeTable>(*target::read_btf(golden::small_btf())));
  }
  target::FixedTargetEnv env_;
};

TEST_F(GuiAuthoring, LinesSayWhatTheyReadInCAndWriteItOut) {
  const CheckedText checked =
      checkDefinitions(QStringLiteral("p:a work x=%si:u32 $arg1\np:b work n=it->size\n"), &env_);
  ASSERT_TRUE(checked.mistakes.empty()) << qPrintable(checked.mistakes[0].text);
  ASSERT_EQ(checked.right.size(), 2u);
  EXPECT_TRUE(checked.right[0].inlay.contains(QStringLiteral("x: unsigned int count")))
      << qPrintable(checked.right[0].inlay);
  EXPECT_EQ(checked.right[1].written_out, QStringLiteral("p:kprobes/b work n=+0($arg1):u32"));
  EXPECT_TRUE(checked.right[0].written_out.isEmpty());
}

TEST_F(GuiAuthoring, AnInjectionIsNotAppliedAndSaysSo) {
  const CheckedText checked = checkDefinitions(QStringLiteral("p:a work\n  inject ret=-1\n"), &env_);
  ASSERT_EQ(checked.mistakes.size(), 1u);
  EXPECT_EQ(checked.mistakes[0].line, 1);
  EXPECT_TRUE(checked.mistakes[0].text.contains(QStringLiteral("kevtrace run --unsafe")));
}

TEST_F(GuiAuthoring, ThisProcessTellsPlacesCodeAndArming) {
  CompilerService compiler;
  compiler.setSources(
      {.pid = static_cast<int>(QCoreApplication::applicationPid()), .functions = {}, .kallsyms = {}, .btf = {}});
  std::optional<PlaceFacts> facts;
  bool is_told = false;
  compiler.facts(QStringLiteral("p:x libc:open64"), [&](const std::optional<PlaceFacts>& told) {
    facts = told;
    is_told = true;
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return is_told; }, 60000));
  ASSERT_TRUE(facts);
  EXPECT_NE(facts->address, 0u) << qPrintable(facts->why_not);
  EXPECT_TRUE(facts->arming.contains(QStringLiteral("jump"))) << qPrintable(facts->arming);
  EXPECT_TRUE(factsHtml(*facts, QStringLiteral("%di")).contains(QStringLiteral("armed by")));

  EventCode code;
  compiler.code(QStringLiteral("p:x libc:open64 path=+0(%di):string"), QStringLiteral("path ~ \"/etc/*\""),
                [&](const EventCode& made) { code = made; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !code.text().isEmpty(); }, 60000));
  EXPECT_TRUE(code.mistake.isEmpty()) << qPrintable(code.mistake);
  EXPECT_TRUE(code.fetch_ir.contains(QStringLiteral("store string"))) << qPrintable(code.fetch_ir);
  EXPECT_TRUE(code.machine_code.contains(QStringLiteral("ret"))) << qPrintable(code.machine_code);
  EXPECT_TRUE(code.cost.contains(QStringLiteral("recorded"))) << qPrintable(code.cost);

  EventCode wrong;
  compiler.code(QStringLiteral("p:x libc:nosuchfunction"), {}, [&](const EventCode& made) { wrong = made; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !wrong.text().isEmpty(); }, 60000));
  EXPECT_FALSE(wrong.mistake.isEmpty());
}

TEST_F(GuiAuthoring, AKernelsFilesAreEnoughToWriteAndCompile) {
  QTemporaryDir folder;
  const auto btf = golden::small_btf();
  QFile types(folder.filePath(QStringLiteral("btf"))), names(folder.filePath(QStringLiteral("kallsyms")));
  ASSERT_TRUE(types.open(QIODevice::WriteOnly) && names.open(QIODevice::WriteOnly));
  types.write(reinterpret_cast<const char*>(btf.data()), static_cast<qint64>(btf.size()));
  names.write(
      "ffffffff81000000 T _stext\nffffffff81000100 T work\nffffffff81000200 t many\nffffffff81100000 T _etext\n");
  types.close();
  names.close();
  TargetContext world({.pid = 0, .functions = {}, .kallsyms = names.fileName(), .btf = types.fileName()});
  ASSERT_NE(world.env(), nullptr) << qPrintable(world.trouble());
  EXPECT_EQ(world.symbols()->find("wor", 3).size(), 1u);
  const auto facts = placeFacts(world, QStringLiteral("p:x work"));
  ASSERT_TRUE(facts && facts->prototype);
  EXPECT_EQ(facts->prototype->text, "long work(const struct thing *it, unsigned int count)");
  const EventCode code = eventCode(world, QStringLiteral("p:x work n=it->size"), QStringLiteral("n > 4"));
  EXPECT_TRUE(code.mistake.isEmpty()) << qPrintable(code.mistake);
  EXPECT_TRUE(code.machine_code.contains(QStringLiteral("exit"))) << qPrintable(code.text());
}

// As many files as before are mapped.
TEST_F(GuiAuthoring, ALibraryInsteadOfAnotherIsOffered) {
  QTemporaryDir folder;
  const QString one = folder.filePath(QStringLiteral("libone.so")), two = folder.filePath(QStringLiteral("libtwo.so"));
  for (const QString& path : {one, two})
    ASSERT_TRUE(QFile::copy(QStringLiteral("/lib/x86_64-linux-gnu/libz.so.1"), path));
  void* opened = ::dlopen(one.toLocal8Bit().constData(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(opened, nullptr);
  TargetContext world({.pid = static_cast<int>(::getpid()), .functions = {}, .kallsyms = {}, .btf = {}});
  EXPECT_FALSE(world.symbols()->find("libone:inflateEnd", 9).empty());
  ::dlclose(opened);
  opened = ::dlopen(two.toLocal8Bit().constData(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(opened, nullptr);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !world.symbols()->find("libtwo:inflateEnd", 9).empty(); }, 30'000));
  EXPECT_TRUE(world.symbols()->find("libone:inflateEnd", 9).empty());
  ::dlclose(opened);
}

TEST_F(GuiAuthoring, FunctionsThatCannotBeProbedAreNotOffered) {
  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("blacklist"));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("0xffffffff81000000-0xffffffff81000010\twork_deep\n0x1-0x2\tother [mod]\nnonsense\n");
  file.close();
  TargetContext world({.pid = 0,
                       .functions = QStringLiteral("work\nwork_deep\nother [mod]\n"),
                       .kallsyms = {},
                       .btf = {},
                       .blacklist = path});
  const auto found = world.symbols()->find("wor", 9);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->name, "work");
  EXPECT_TRUE(world.symbols()->find("other", 9).empty());
}

TEST_F(GuiAuthoring, TheSameThingInATerminal) {
  const std::vector<WrittenEvent> events = {{QStringLiteral("p:op libc:open64 path=+0(%di):string"),
                                             QStringLiteral("kprobes"),
                                             QStringLiteral("op"),
                                             QStringLiteral("path ~ \"it's\""),
                                             {QStringLiteral("traceoff:1")},
                                             true}};
  const WrittenTarget target{QStringLiteral("/tmp/a dir"), {QStringLiteral("ls"), QStringLiteral("-l")}, 0};
  EXPECT_EQ(
      asShellScript(events, target),
      QStringLiteral("#!/bin/sh -e\ncd '/tmp/a dir'\necho 'p:op libc:open64 path=+0(%di):string' >> dynamic_events\n"
                     "echo 'path ~ \"it'\\''s\"' > events/kprobes/op/filter\n"
                     "echo 'traceoff:1' >> events/kprobes/op/trigger\necho 1 > events/kprobes/op/enable\n"
                     "cat trace_pipe\n"));
  EXPECT_TRUE(asCommand(events, target).contains(QStringLiteral("--filter 'op: path ~ \"it'\\''s\"'")));
  EXPECT_TRUE(asCommand(events, target).endsWith(QStringLiteral("-- ls -l\n")));
  EXPECT_EQ(asEventScript(events, target),
            QStringLiteral("target program ls -l\n\np:op libc:open64 path=+0(%di):string\n  filter path ~ \"it's\"\n"
                           "  trigger traceoff:1\n"));
  // What is written is right, and says the same again.
  const CheckedText checked = checkDefinitions(asEventScript(events, target), nullptr);
  EXPECT_TRUE(checked.mistakes.empty());
  ASSERT_EQ(checked.right.size(), 1u);
  EXPECT_EQ(checked.right[0].filter, events[0].filter);
}

TEST_F(GuiAuthoring, TheSameThingForOtherTools) {
  const auto event = [](const char* definition, const char* filter = "") {
    return WrittenEvent{QString::fromLatin1(definition),
                        QStringLiteral("kprobes"),
                        QStringLiteral("e"),
                        QString::fromLatin1(filter),
                        {},
                        true};
  };
  const WrittenTarget program{
      {}, {QStringLiteral("ls")}, 0, {{QStringLiteral("libc"), QStringLiteral("/lib/libc.so.6")}}};
  const std::vector<WrittenEvent> open = {
      event("p:e libc:open64+4 path=+0(%di):string n=%si:s32 at=-8(+16(%dx)):u16", "n > 3 && common_pid != 1")};
  EXPECT_EQ(asPerfProbe(open, program),
            QStringLiteral("perf probe -x /lib/libc.so.6 -a 'kprobes:e=open64+0x4 path=+0(%di):string n=%si:s32 "
                           "at=-8(+16(%dx)):u16'\nperf record -e kprobes:e --filter 'n > 3 && common_pid != 1' -- ls\n"
                           "perf script\n"));
  EXPECT_EQ(asBpftrace(open, program),
            QStringLiteral("#!/usr/bin/env bpftrace\n// bpftrace -c ls FILE\nuprobe:/lib/libc.so.6:open64+0x4\n"
                           "/(int32)reg(\"si\") > 3 && tid != 1/\n{\n"
                           "  printf(\"e: path=\\\"%s\\\" n=%ld at=%lu\\n\", str(reg(\"di\")), (int32)reg(\"si\"), "
                           "*(uint16 *)(*(uint64 *)(reg(\"dx\") + 16) - 8));\n}\n"));
  // Of the kernel: another probe, and user memory is said to be such.
  const std::vector<WrittenEvent> kernel = {event("r8:e vfs_read n=$retval:s64 who=$comm"),
                                            event("p:e do_sys_openat2 path=+0(%si):ustring b=$arg2:b4@8/32")};
  EXPECT_TRUE(asBpftrace(kernel, {}).contains(QStringLiteral("kretprobe:vfs_read\n{\n")));
  EXPECT_TRUE(asBpftrace(kernel, {}).contains(QStringLiteral("retval, comm);")));
  EXPECT_TRUE(asBpftrace(kernel, {}).contains(QStringLiteral("str(uptr(reg(\"si\"))), ((uint32)arg1 >> 8) & 0xf);")))
      << qPrintable(asBpftrace(kernel, {}));
  EXPECT_TRUE(asPerfProbe(kernel, {})
                  .startsWith(QStringLiteral("# perf probe has no form of r8\nperf probe -a "
                                             "'kprobes:e=vfs_read%return n=$retval:s64")))
      << qPrintable(asPerfProbe(kernel, {}));
  // What they cannot say is said.
  const std::vector<WrittenEvent> other = {event("p:e vfs_read x=+0(%si):x8[4]", "x ~ \"a*\""),
                                           event("t:e sched_switch")};
  EXPECT_TRUE(asBpftrace(other, {}).contains(QStringLiteral("// bpftrace has no form of: x=")));
  EXPECT_TRUE(asBpftrace(other, {}).contains(QStringLiteral("no form of the filter: x ~ \"a*\"")));
  EXPECT_TRUE(asBpftrace(other, {}).contains(QStringLiteral("// bpftrace has no form of: t:e sched_switch")));
  EXPECT_TRUE(asPerfProbe(other, {}).contains(QStringLiteral("# perf probe has no form of: t:e")));
  EXPECT_TRUE(asBpftrace({{{}, QStringLiteral("sched"), QStringLiteral("sched_switch"), {}, {}, true}}, {})
                  .contains(QStringLiteral("tracepoint:sched:sched_switch\n")));
}

TEST_F(GuiAuthoring, TriggersGoBetweenTextAndParts) {
  for (const char* text :
       {"traceoff:1 if count > 3", "snapshot", "stacktrace:5", "enable_event:kprobes:op:1 if fd < 0",
        "hist:keys=common_pid,fd:vals=hitcount:sort=hitcount:size=512 if count > 4", "disable_event:a:b"}) {
    const auto parts = triggerParts(QString::fromLatin1(text));
    ASSERT_TRUE(parts) << text;
    EXPECT_EQ(triggerText(*parts), QString::fromLatin1(text));
  }
  for (const char* text :
       {"", "!snapshot", "hist:vals=x", "hist:keys=a:onmax(b).save(c)", "traceoff:1:2", "enable_event:a"})
    EXPECT_FALSE(triggerParts(QString::fromLatin1(text))) << text;
}

TEST_F(GuiAuthoring, ATriggerIsJudgedByItsEventsFields) {
  const auto checked = checkDefinitions(QStringLiteral("p:op work count=%si:u32"), nullptr);
  const auto format = record::parse_format("kprobes", checked.right.at(0).format.toStdString());
  ASSERT_TRUE(format);
  EXPECT_FALSE(judgeTrigger(QStringLiteral("traceoff:1 if count > 3"), *format));
  EXPECT_FALSE(judgeTrigger(QStringLiteral("hist:keys=count"), *format));
  EXPECT_TRUE(judgeTrigger(QStringLiteral("traceoff if nothing > 3"), *format));
  EXPECT_TRUE(judgeTrigger(QStringLiteral("hist:keys=nothing"), *format));
  EXPECT_TRUE(judgeTrigger(QStringLiteral("trace_of"), *format));
}

TEST_F(GuiAuthoring, TheTreeSaysWhoMadeAnEvent) {
  EventTree tree;
  LiveState state;
  state.events = {{.system = QStringLiteral("kprobes"),
                   .name = QStringLiteral("mine"),
                   .definition = QStringLiteral("p:kprobes/mine f")},
                  {.system = QStringLiteral("kprobes"),
                   .name = QStringLiteral("theirs"),
                   .definition = QStringLiteral("r:kprobes/theirs f")},
                  {.system = QStringLiteral("sched"), .name = QStringLiteral("own")}};
  tree.setOwned({QStringLiteral("kprobes/mine")});
  tree.take(state);
  const auto source = [&](const char* system, const char* name) {
    return tree.find(QString::fromLatin1(system), QString::fromLatin1(name))
        .siblingAtColumn(EventTree::Source)
        .data()
        .toString();
  };
  EXPECT_EQ(source("kprobes", "mine"), QStringLiteral("probe, this window"));
  EXPECT_EQ(source("kprobes", "theirs"), QStringLiteral("return probe, another tool"));
  EXPECT_EQ(source("sched", "own"), QStringLiteral("built in"));
}

TEST_F(GuiAuthoring, ListingsNameTheirEvents) {
  EXPECT_EQ(nameOfListing(QStringLiteral("p:kprobes/op libc:open64 fd=%di")), QStringLiteral("kprobes/op"));
  EXPECT_EQ(nameOfListing(QStringLiteral("r16:g.op libc:open64")), QStringLiteral("g/op"));
  EXPECT_EQ(nameOfListing(QStringLiteral("s:synthetic/took\tu64 ns")), QStringLiteral("synthetic/took"));
  EXPECT_EQ(nameOfListing(QStringLiteral("s:took u64 ns")), QStringLiteral("synthetic/took"));
}

}  // namespace
}  // namespace kevt::gui
