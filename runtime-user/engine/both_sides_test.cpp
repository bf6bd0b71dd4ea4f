// A program and the kernel in one session (docs/adr/0040): each gets what is about it, and what is read of both is in
// the order of time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "common/clock.h"
#include "runtime-user/engine/records/accounting.h"
#include "runtime-user/engine/text/trace_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BothSides : public testing::Test {
 protected:
  BothSides() {
    program_.process = 7;
    program_.share(false);
    kernel_.share(true);
    kernel_.add_function("vfs_write", 0x9000);
  }
  BatchAnswer define(std::vector<std::string> definitions, std::vector<EventFilter> filters = {}) {
    definitions_ = std::move(definitions);
    filters_ = std::move(filters);
    auto answer = tracing_.define({.definitions = definitions_, .filters = filters_, .triggers = {}});
    EXPECT_TRUE(answer.has_value());
    return *std::move(answer);
  }
  const TracedEvent& event(std::string_view name) { return *tracing_.events().find_written(name); }
  void enable(std::string_view name) {
    const TracedEvent* const all[] = {&event(name)};
    ASSERT_TRUE(tracing_.switcher().set_enabled(tracing_.top(), all, true));
  }
  std::size_t hit(FakeTarget& target, std::string_view name, std::uint64_t time_ns, std::uint32_t fd = 3) {
    return target.runtime().hit(event(name).id,
                                {.bytes = payload(fd), .timestamp_ns = time_ns, .pid = 7, .comm = "me"});
  }
  std::string lines() { return lines_of(tracing_); }

  FakeTarget program_, kernel_;
  Tracing tracing_{{&program_, &kernel_}, {.cpus = 2}};
  std::vector<std::string> definitions_;
  std::vector<EventFilter> filters_;
};

TEST_F(BothSides, EachHasWhatIsAboutIt) {
  const BatchAnswer answer = define({"p:user libc.so.6:open64 fd=%di:u32", "p:kern vfs_write fd=%di:u32"});
  ASSERT_TRUE(answer.is_defined);
  EXPECT_THAT(answer.serials, ElementsAre(testing::SizeIs(1), testing::SizeIs(1)));
  enable("user");
  enable("kern");
  EXPECT_EQ(program_.runtime().armed(), 1u);
  EXPECT_EQ(kernel_.runtime().armed(), 1u);
  EXPECT_THAT(tracing_.code().targets_of(event("user")), ElementsAre(&program_));
  EXPECT_THAT(tracing_.code().targets_of(event("kern")), ElementsAre(&kernel_));
  EXPECT_EQ(hit(kernel_, "user", 1), 0u);
  EXPECT_EQ(hit(program_, "kern", 1), 0u);
}

// A name alone is the kernel's, also where the program has such a function; each side's mistakes are told.
TEST_F(BothSides, AMistakeIsToldByTheSideItIsAbout) {
  const BatchAnswer of_kernel = define({"p:user libc.so.6:open64 fd=%di:u32", "p:kern no_such"});
  EXPECT_FALSE(of_kernel.is_defined);
  ASSERT_EQ(of_kernel.problems.size(), 1u);
  EXPECT_EQ(of_kernel.problems[0].index, 1u);
  EXPECT_EQ(of_kernel.where, &kernel_);
  const BatchAnswer of_program = define({"p:kern vfs_write", "p:user libc.so.6:vfs_write"});
  ASSERT_EQ(of_program.problems.size(), 1u);
  EXPECT_EQ(of_program.problems[0].index, 1u);
  EXPECT_EQ(of_program.where, &program_);
  EXPECT_THAT(tracing_.events().events(), testing::IsEmpty());
}

TEST_F(BothSides, AnEventIsOfOneSide) {
  const BatchAnswer answer = define({"p:same libc.so.6:open64", "p:same vfs_write"});
  EXPECT_FALSE(answer.is_defined);
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_EQ(answer.problems[0].index, 1u);
  EXPECT_EQ(answer.problems[0].diagnostic.errno_value, EEXIST);
}

TEST_F(BothSides, AnEventIsOfOneSideInFilesToo) {
  const auto write = [&](std::string_view line) {
    auto done = tracing_.definitions().write(grammar::EventsFile::Dynamic, line);
    return done ? 0 : done.error().errno_value();
  };
  EXPECT_EQ(write("p:same libc.so.6:open64 fd=%di:u32"), 0);
  EXPECT_EQ(write("p:same vfs_write fd=%di:u32"), EEXIST);
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("Probe type is different from existing probe"));
  EXPECT_EQ(event("same").probes.size(), 1u);
  EXPECT_EQ(write("p:same libc.so.6:close fd=%di:u32"), 0) << "a second probe of its own side";
  EXPECT_EQ(define({"p:same vfs_write fd=%di:u32"}).problems.size(), 1u) << "nor with what was there before";
  EXPECT_EQ(event("same").probes.size(), 2u);
}

// The program has ended, and the kernel goes on.
TEST_F(BothSides, WhatHasEndedIsNotTraced) {
  ASSERT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic,
                                           "p:user libc.so.6:open64 fd=%di:u32\np:on libc.so.6:close fd=%di:u32\n"
                                           "p:kern vfs_write fd=%di:u32\n"));
  enable("on");
  program_.alive = false;
  const TracedEvent* const user[] = {&event("user")};
  EXPECT_EQ(tracing_.switcher().set_enabled(tracing_.top(), user, true).error().errno_value(), ESRCH);
  EXPECT_TRUE(tracing_.triggers().write(tracing_.top(), event("on"), "hist:keys=fd:vals=fd.max")) << "no new code";
  enable("kern");
  EXPECT_EQ(hit(kernel_, "kern", 1), 1u);
  EXPECT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic, "p:later libc.so.6:close\n"));
  const BatchAnswer answer = define({"p:late libc.so.6:open64", "p:fine vfs_write"});
  EXPECT_FALSE(answer.is_defined);
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_EQ(answer.problems[0].index, 0u);
  EXPECT_EQ(answer.problems[0].diagnostic.errno_value, ESRCH);
}

// What was hit before a switch is judged by the state before it, however young.
TEST_F(BothSides, NothingWaitsBehindASwitch) {
  ASSERT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic, "p:user libc.so.6:open64 fd=%di:u32\n"));
  enable("user");
  hit(program_, "user", now_ns());
  const TracedEvent* const all[] = {&event("user")};
  ASSERT_TRUE(tracing_.switcher().set_enabled(tracing_.top(), all, false));
  EXPECT_EQ(accounting_line("user", tracing_.records().counts(tracing_.top(), event("user"))),
            "user: hits 1 = recorded 1 + filtered 0 + lost 0 + missed 0\n");
}

// kevtrace's own threads are hidden in the kernel; in the program another thread may have such a number.
TEST_F(BothSides, OwnThreadsAreHiddenInTheKernelAlone) {
  ASSERT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic,
                                           "p:user libc.so.6:open64 fd=%di:u32\np:kern vfs_write fd=%di:u32\n"));
  tracing_.hide_own_threads();
  for (const auto& [target, name] : {std::pair(&program_, "user"), std::pair(&kernel_, "kern")}) {
    enable(name);
    target->runtime().hit(event(name).id, {.bytes = payload(3), .timestamp_ns = 1, .pid = ::getpid(), .comm = "me"});
  }
  tracing_.drain();
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("user")).recorded, 1u);
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("kern")).filtered, 1u);
}

TEST_F(BothSides, CodeOfAProgramIsGivenBack) {
  ASSERT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic, "p:user libc.so.6:open64 fd=%di:u32\n"));
  kernel_.runtime().code = model::CodeKind::Bpf;
  enable("user");
  for (int i = 0; i < 12; ++i)
    ASSERT_TRUE(tracing_.filters().write(tracing_.top(), event("user"), "fd > " + std::to_string(i)));
  EXPECT_GT(program_.runtime().retired, 0u);
}

TEST_F(BothSides, ASyntheticEventIsOfBoth) {
  ASSERT_TRUE(define({"s:took u64 ns", "p:user libc.so.6:open64", "p:kern vfs_write"}).is_defined);
  EXPECT_TRUE(tracing_.code().sees_misses(event("took")));
}

TEST_F(BothSides, FiltersFindTheirEvents) {
  ASSERT_TRUE(define({"p:user libc.so.6:open64 fd=%di:u32", "p:kern vfs_write fd=%di:u32"},
                     {{"kern", "fd == 4"}, {"user", "fd == 3"}})
                  .is_defined);
  EXPECT_EQ(tracing_.top().find_state(event("kern").id)->filter_text, "fd == 4");
  EXPECT_EQ(tracing_.top().find_state(event("user").id)->filter_text, "fd == 3");
  const BatchAnswer wrong = define({"p:more vfs_write"}, {{"nobody", "fd == 4"}});
  EXPECT_FALSE(wrong.is_defined);
  ASSERT_EQ(wrong.problems.size(), 1u);
  EXPECT_EQ(wrong.problems[0].kind, Problem::Kind::Filter);
  EXPECT_EQ(tracing_.events().find_written("more"), nullptr);
}

TEST_F(BothSides, FilesDefineForBoth) {
  ASSERT_TRUE(tracing_.definitions().write(grammar::EventsFile::Dynamic,
                                           "p:user libc.so.6:open64 fd=%di:u32\np:kern vfs_write fd=%di:u32\n"));
  EXPECT_FALSE(tracing_.definitions().write(grammar::EventsFile::Dynamic, "p:more libc.so.6:vfs_write\n"));
  enable("user");
  enable("kern");
  EXPECT_EQ(hit(program_, "user", 1) + hit(kernel_, "kern", 2), 2u);
}

// From one side to the other, in the order of time.
TEST_F(BothSides, LatenciesGoFromOneSideToTheOther) {
  ASSERT_TRUE(
      tracing_.definitions().write(grammar::EventsFile::Dynamic,
                                   "s:took u64 ns\np:user libc.so.6:open64 fd=%di:u32\np:kern vfs_write fd=%di:u32\n"));
  ASSERT_TRUE(tracing_.triggers().write(tracing_.top(), event("user"), "hist:keys=common_pid:t0=common_timestamp"));
  ASSERT_TRUE(
      tracing_.triggers().write(tracing_.top(), event("kern"),
                                "hist:keys=common_pid:ns=common_timestamp-$t0:onmatch(kprobes.user).trace(took,$ns)"));
  enable("took");
  const std::uint64_t old = now_ns() - 1'000'000'000;
  hit(kernel_, "kern", old + 1250);
  hit(program_, "user", old + 1000);
  hit(kernel_, "kern", old + 900);
  tracing_.drain();
  EXPECT_THAT(lines(), HasSubstr(" took: ns=250\n"));
  EXPECT_EQ(accounting_line("kern", tracing_.records().counts(tracing_.top(), event("kern"))),
            "kern: hits 2 = recorded 0 + aggregated 1 + filtered 1 + lost 0 + missed 0\n");
}

TEST_F(BothSides, TheKernelIsLeftAlone) {
  ASSERT_TRUE(define({"p:user libc.so.6:open64 fd=%di:u32", "p:kern vfs_write fd=%di:u32"}).is_defined);
  enable("user");
  enable("kern");
  ASSERT_TRUE(tracing_.switcher().disarm_in(kernel_));
  EXPECT_EQ(kernel_.runtime().armed(), 0u);
  EXPECT_EQ(program_.runtime().armed(), 1u);
}

// What is on and off again uses its code again: the other side's probes are not missing.
TEST_F(BothSides, CodeIsWholeWithoutTheOtherSide) {
  ASSERT_TRUE(define({"p:user libc.so.6:open64 fd=%di:u32"}).is_defined);
  enable("user");
  const std::size_t installed = program_.runtime().installed();
  for (int i = 0; i < 3; ++i) {
    const TracedEvent* const all[] = {&event("user")};
    ASSERT_TRUE(tracing_.switcher().set_enabled(tracing_.top(), all, false));
    enable("user");
  }
  EXPECT_EQ(program_.runtime().installed(), installed);
}

}  // namespace
}  // namespace kevt::engine
