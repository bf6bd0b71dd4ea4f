#include "compiler/pipeline/shared_bpf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "compiler/ir/text.h"
#include "compiler/ir/type_relocations.h"

namespace kevt::pipeline {
namespace {

using codegen::BpfNumbers;
using model::BpfContext;

ir::Program program(const std::string& reg, const std::string& load) {
  auto parsed =
      ir::parse("program entry fixed 24\nv0 = reg " + reg + "\nv1 = load " + load + "\nstore int8 v1 @16\nsink 0\n");
  EXPECT_TRUE(parsed.has_value()) << load;
  return parsed.value_or(ir::Program{});
}

std::vector<BpfTask> tasks_of(const std::vector<ir::Program>& programs, BpfContext context,
                              bool uses_target_types = false) {
  std::vector<BpfTask> tasks;
  for (const ir::Program& one : programs)
    tasks.push_back({.program = &one,
                     .name = "e" + std::to_string(tasks.size()),
                     .context = context,
                     .uses_target_types = uses_target_types});
  return tasks;
}

SharedBpf compiled(const std::vector<BpfTask>& tasks, const BpfRequest& request) {
  auto code = compile_bpf_programs(tasks, request);
  EXPECT_TRUE(code.has_value()) << code.error().message();
  return code ? *std::move(code) : SharedBpf{};
}

// What was stored for another machine or another place is not taken.
TEST(SharedBpf, StoredCodeIsTakenWhereItFits) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8"), program("di", "u8 v0+8")};
  model::BpfCode stored;
  stored.instructions = {0x95};
  stored.cpus = 4;
  CodeStore store;
  store.add_bpf(ir::print(programs[0]), {.code = stored, .users = codegen::BpfUsers::One});
  const auto instructions = [&](BpfContext context, unsigned cpus) {
    const SharedBpf code = compiled(tasks_of({programs[0]}, context), {.possible_cpus = cpus, .made = &store});
    return code.programs.at(code.places.at(0)).instructions.size();
  };
  EXPECT_EQ(instructions(BpfContext::Kprobe, 3), 1u);
  EXPECT_GT(instructions(BpfContext::Kprobe, 5), 1u) << "more CPUs than it has rows for";
  EXPECT_GT(instructions(BpfContext::Uprobe, 3), 1u);

  const SharedBpf two = compiled(tasks_of(programs, BpfContext::Kprobe), {.possible_cpus = 3, .made = &store});
  EXPECT_EQ(two.places, (std::vector<std::uint32_t>{0, 1})) << "it is one event's: each has a copy";
  EXPECT_EQ(two.programs.at(1).instructions.size(), 1u);
}

TEST(SharedBpf, CodeOfSeveralEventsServesOne) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8")};
  model::BpfCode stored;
  stored.instructions = {0x95};
  CodeStore store;
  store.add_bpf(ir::print(programs[0]), {.code = stored, .users = codegen::BpfUsers::Many});
  const SharedBpf code = compiled(tasks_of(programs, BpfContext::Kprobe), {.made = &store});
  EXPECT_EQ(code.programs.at(0).instructions.size(), 1u);
}

// How often each helper is called.
std::map<std::int32_t, int> helpers_of(const model::BpfCode& code) {
  constexpr std::uint8_t kCall = 0x85;
  std::map<std::int32_t, int> counts;
  for (const std::uint64_t instruction : code.instructions)
    if ((instruction & 0xff) == kCall) ++counts[static_cast<std::int32_t>(instruction >> 32)];
  return counts;
}

// Programs of user threads wait for memory that is not resident, and read no other; all others find what is there.
TEST(SharedBpf, OnlyProgramsOfUserThreadsMaySleep) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8")};
  const auto helpers = [&](BpfContext context) {
    return helpers_of(compiled(tasks_of(programs, context), {.possible_cpus = 2}).programs.at(0));
  };
  constexpr std::int32_t kProbeRead = 4, kCopyFromUser = 148;
  EXPECT_EQ(helpers(BpfContext::Uprobe)[kCopyFromUser], 2) << "once before room in the ring is taken";
  EXPECT_EQ(helpers(BpfContext::Uprobe)[kProbeRead], 0);
  for (const BpfContext other :
       {BpfContext::Kprobe, BpfContext::Watch, BpfContext::RawTracepoint, BpfContext::Tracepoint}) {
    EXPECT_EQ(helpers(other)[kCopyFromUser], 0);
    EXPECT_EQ(helpers(other)[kProbeRead], 1);
    EXPECT_FALSE(model::may_sleep(other));
  }
}

TEST(SharedBpf, ProgramsOfUserThreadsHoldATailCall) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8")};
  constexpr std::int32_t kTailCall = 12;
  const auto tail_calls = [&](BpfContext context) {
    return helpers_of(compiled(tasks_of(programs, context), {.possible_cpus = 1}).programs.at(0))[kTailCall];
  };
  EXPECT_EQ(tail_calls(BpfContext::Uprobe), 1) << "else 6.13 and later give them a stack that others write to";
  EXPECT_EQ(tail_calls(BpfContext::Kprobe), 0);
}

TEST(SharedBpf, AStackIsTakenWhereItIsAskedFor) {
  std::vector<ir::Program> programs = {program("di", "u8 v0+8"), program("di", "u8 v0+8")};
  programs[1].takes_stack = true;
  constexpr std::int32_t kGetStack = 67;
  for (const BpfContext context : {BpfContext::Kprobe, BpfContext::Uprobe, BpfContext::RawTracepoint}) {
    const SharedBpf code = compiled(tasks_of(programs, context), {.possible_cpus = 1});
    ASSERT_NE(code.places.at(0), code.places.at(1));
    EXPECT_EQ(helpers_of(code.programs.at(code.places[0]))[kGetStack], 0);
    EXPECT_EQ(helpers_of(code.programs.at(code.places[1]))[kGetStack], 1);
  }
}

// What the verifier would walk for too long is refused with a reason, not by the kernel.
TEST(SharedBpf, PatternsAreRunOrRefused) {
  const auto answer = [](const std::string& pattern) -> Result<SharedBpf> {
    auto parsed = ir::parse(
        "program entry fixed 20\nv0 = reg di\nv1 = string v0+0\nstore string v1 @16\nsink 0 when v1 ~ glob \"" +
        pattern + "\"\n");
    EXPECT_TRUE(parsed.has_value()) << pattern;
    return compile_bpf_programs(tasks_of({*parsed}, BpfContext::Kprobe), {.possible_cpus = 2});
  };
  for (const char* pattern : {"*ello*", "h?llo", "*a*b*c*", "[a-z]*[!0-9]", "*", "**", "", "?"})
    EXPECT_TRUE(answer(pattern)) << pattern;
  EXPECT_TRUE(answer("*a*b*c*d*e*f*g*"));
  const auto refused = answer("*a*b*c*d*e*f*g*h*");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EOPNOTSUPP);
}

// A raw tracepoint is not told for which event it runs, so that equal events are programs of their own.
TEST(SharedBpf, EventsWithoutCookieShareNoProgram) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8"), program("di", "u8 v0+8")};
  const auto places = [&](BpfContext context) {
    return compiled(tasks_of(programs, context), {.possible_cpus = 2}).places;
  };
  EXPECT_EQ(places(BpfContext::Watch), (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(places(BpfContext::RawTracepoint), (std::vector<std::uint32_t>{0, 1}));
}

// Code that is made with open numbers for one kernel.
CodeStore made_elsewhere(const std::vector<BpfTask>& tasks) {
  CodeStore store;
  const SharedBpf code = compiled(tasks, {.possible_cpus = 4, .numbers = BpfNumbers::Open});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_FALSE(code.programs.at(code.places.at(i)).numbers.empty());
    store.add_bpf(bpf_key(tasks[i], BpfNumbers::Open), {.code = code.programs.at(code.places.at(i))});
  }
  return store;
}

std::vector<std::uint64_t> loaded_words(const model::BpfCode& code) {
  constexpr std::uint64_t kLoad16 = 0x18;
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i + 1 < code.instructions.size(); ++i)
    if ((code.instructions[i] & 0xff) == kLoad16)
      words.push_back(code.instructions[i] >> 32 | code.instructions[i + 1] >> 32 << 32);
  return words;
}

TEST(SharedBpf, OpenNumbersBecomeThoseOfTheProgramThatRuns) {
  const std::vector<ir::Program> there = {program("di", "u8 v0+8")};
  const std::vector<ir::Program> here = {program("dx", "u8 v0-70000")};
  const CodeStore store = made_elsewhere(tasks_of(there, BpfContext::Kprobe, true));
  const SharedBpf code = compiled(tasks_of(here, BpfContext::Kprobe, true), {.possible_cpus = 4, .made = &store});
  const model::BpfCode& taken = code.programs.at(0);
  EXPECT_TRUE(taken.numbers.empty());
  const auto words = loaded_words(taken);
  for (const ir::TypeRelocation& number : ir::type_relocations(here[0], BpfContext::Kprobe))
    EXPECT_EQ(std::ranges::count(words, static_cast<std::uint64_t>(number.word)), 1) << number.word;
}

TEST(SharedBpf, OpenNumbersServeOnlyWhatTypesTell) {
  const std::vector<ir::Program> there = {program("di", "u8 v0+8")}, narrow = {program("di", "u4 v0+8")};
  const CodeStore store = made_elsewhere(tasks_of(there, BpfContext::Kprobe, true));
  EXPECT_TRUE(is_made(tasks_of(there, BpfContext::Kprobe, true)[0], store, 4));
  EXPECT_FALSE(is_made(tasks_of(there, BpfContext::Kprobe, true)[0], store, 5));
  EXPECT_FALSE(is_made(tasks_of(there, BpfContext::Kprobe, false)[0], store, 4));
  EXPECT_FALSE(is_made(tasks_of(there, BpfContext::RawTracepoint, true)[0], store, 4));
  EXPECT_FALSE(is_made(tasks_of(narrow, BpfContext::Kprobe, true)[0], store, 4)) << "it reads less";
}

TEST(SharedBpf, ANumberThatNoProgramHasIsNotTaken) {
  const std::vector<ir::Program> programs = {program("di", "u8 v0+8")};
  const BpfTask task = tasks_of(programs, BpfContext::Kprobe, true)[0];
  model::BpfCode damaged;
  damaged.instructions = {0x18, 0, 0x95};
  damaged.numbers = {{.instruction = 0, .number = 2}};
  damaged.cpus = 4;
  CodeStore store;
  store.add_bpf(bpf_key(task, BpfNumbers::Open), {.code = damaged});
  EXPECT_FALSE(is_made(task, store, 1));
}

}  // namespace
}  // namespace kevt::pipeline
