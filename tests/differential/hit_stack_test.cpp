// The agent's walk of a stack, by the rules that HitStacks makes, held to glibc's backtrace().
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime-user/runtime/inproc/memory/hit_stacks.h"
#include "tests/support/local_session.h"

namespace kevt::test {
namespace {

using testing::Contains;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;

using Addresses = std::vector<std::uint64_t>;
// A place in a function, its registers, and what glibc says of the calls under way.
struct Place {
  kevt_registers registers{};
  std::uint64_t pc = 0;
  Addresses callers;
};

[[gnu::noinline]] void look(const std::function<void(const Place&)>& use) {
  ucontext_t context;
  getcontext(&context);
  const auto& r = context.uc_mcontext.gregs;
  const auto word = [&](int index) { return static_cast<std::uint64_t>(r[index]); };
  Place place;
  place.pc = word(REG_RIP);
  place.registers.sp = word(REG_RSP);
  place.registers.bp = word(REG_RBP);
  place.registers.bx = word(REG_RBX);
  place.registers.r12 = word(REG_R12);
  place.registers.r13 = word(REG_R13);
  place.registers.r14 = word(REG_R14);
  place.registers.r15 = word(REG_R15);
  std::vector<void*> callers(256);
  callers.resize(static_cast<std::size_t>(backtrace(callers.data(), static_cast<int>(callers.size()))));
  for (void* caller : callers) place.callers.push_back(reinterpret_cast<std::uint64_t>(caller));
  place.callers.erase(place.callers.begin());  // a place in look() itself
  use(place);
}

// Frames of their own; the even ones keep a frame pointer, since their room is not known before.
[[gnu::noinline]] int nest(int depth, const std::function<void(const Place&)>& use) {
  if (depth == 0) {
    look(use);
    return 0;
  }
  if (depth % 2) return nest(depth - 1, use) + 1;
  auto* room = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(depth) * 8 + 16));
  room[0] = static_cast<char>(depth);
  return nest(depth - 1, use) + room[0];
}

// `call_without_frames(function, argument)` calls function(argument); nothing says where its frame is.
__asm__(
    ".pushsection .text\n"
    ".type call_without_frames, @function\n"
    "call_without_frames:\n"
    "  push %rbp\n"
    "  mov %rsp, %rbp\n"
    "  mov %rdi, %rax\n"
    "  mov %rsi, %rdi\n"
    "  call *%rax\n"
    "  pop %rbp\n"
    "  ret\n"
    ".size call_without_frames, . - call_without_frames\n"
    ".popsection\n");
extern "C" void call_without_frames(void (*function)(const void*), const void* argument);

class HitStackTest : public testing::Test {
 protected:
  void SetUp() override {
    auto session = LocalSession::create({.ring_bytes = 1u << 20, .rows = 64});
    ASSERT_TRUE(session) << session.error().message();
    session_ = std::move(*session);
    stacks_ = std::make_unique<inproc::HitStacks>(session_->memory(), getpid());
    const auto begun = stacks_->begin();
    ASSERT_TRUE(begun) << begun.error().message();
  }
  kevt_thread& thread(std::size_t index = 0) { return session_->priv().threads[index]; }

  std::uint64_t number(const Place& place, std::size_t of = 0) {
    const auto walk =
        reinterpret_cast<std::uint64_t (*)(kevt_thread*, std::uint64_t, std::uint64_t, const kevt_registers*)>(
            session_->memory().tables().services.stack);
    return walk(&thread(of), place.pc, 1, &place.registers);
  }
  // What the record of a hit there ends with.
  std::vector<std::uint8_t> sampled(const Place& place) {
    std::vector<std::uint8_t> bytes(sizeof(kevt_stack_sample) + sizeof(std::uint64_t));
    const auto sample = reinterpret_cast<void (*)(const kevt_thread*, std::uint64_t, const kevt_registers*, void*)>(
        session_->memory().tables().services.stack_sample);
    sample(&thread(), place.pc, &place.registers, bytes.data());
    return bytes;
  }
  Addresses taken(std::vector<std::uint8_t> record) {
    std::span<std::uint8_t> rest(record);
    const auto stack = stacks_->take(rest);
    return {stack.begin(), stack.end()};
  }
  Addresses numbered(std::uint64_t number) {
    const auto stack = stacks_->numbered(number);
    return {stack.begin(), stack.end()};
  }

  std::unique_ptr<LocalSession> session_;
  std::unique_ptr<inproc::HitStacks> stacks_;
};

TEST_F(HitStackTest, AWalkFindsWhatBacktraceFinds) {
  for (const int depth : {0, 1, 2, 7, 20, 60, 100}) {
    nest(depth, [&](const Place& place) {
      const std::uint64_t found = number(place);
      ASSERT_NE(found, 0u) << depth;
      Addresses addresses = numbered(found);
      EXPECT_EQ(addresses.front(), place.pc);
      addresses.erase(addresses.begin());
      EXPECT_THAT(addresses, ElementsAreArray(place.callers)) << depth;
      EXPECT_EQ(number(place), found);
    });
  }
}

TEST_F(HitStackTest, ASampleTellsTheSameAsFarAsItReaches) {
  nest(6, [&](const Place& place) {
    const Addresses unwound = taken(sampled(place));
    ASSERT_GT(unwound.size(), 7u);
    Addresses walked = numbered(number(place));
    walked.resize(unwound.size());
    EXPECT_EQ(walked, unwound);
  });
}

TEST_F(HitStackTest, CodeWithoutFrameInformationIsSampled) {
  bool was_called = false;
  const auto below = [&] {
    look([&](const Place& place) {
      was_called = true;
      EXPECT_EQ(number(place), 0u);
      EXPECT_GT(taken(sampled(place)).size(), 3u);
    });
  };
  call_without_frames([](const void* call) { (*static_cast<const decltype(below)*>(call))(); }, &below);
  EXPECT_TRUE(was_called);
}

TEST_F(HitStackTest, AStackIsCutAtTheDepthOfTheKernels) {
  nest(300, [&](const Place& place) { EXPECT_EQ(numbered(number(place)).size(), std::size_t{KEVT_STACK_DEPTH}); });
}

TEST_F(HitStackTest, ThreadsAgreeOnTheNumbers) {
  constexpr std::size_t kThreads = 8;
  constexpr int kDepths = 40;
  const auto numbers_of_thread = [this](std::size_t of) {
    std::vector<std::uint64_t> numbers;
    std::thread([&] {
      for (int depth = 0; depth < kDepths; ++depth)
        nest(depth, [&](const Place& place) { numbers.push_back(number(place, of)); });
    }).join();
    return numbers;
  };
  std::vector<std::vector<std::uint64_t>> found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { found[i] = numbers_of_thread(i); });
  }
  for (const auto& numbers : found) {
    EXPECT_EQ(numbers, found.front());
    EXPECT_THAT(numbers, Not(Contains(0u)));
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), std::size_t{kDepths});
  }
}

TEST_F(HitStackTest, NewRulesFindTheSameStacks) {
  nest(3, [&](const Place& place) {
    const std::uint64_t before = number(place);
    kevt_tables& tables = session_->memory().tables();
    const std::uint64_t generation = tables.rule_generation;
    stacks_->note_new_files();
    EXPECT_EQ(tables.rule_generation, generation) << "no file has come";
    const auto now = session_->memory().rules(generation & 1).first(tables.rule_counts[generation & 1]);
    std::ranges::copy(now, session_->memory().rules(~generation & 1).begin());
    tables.rule_counts[~generation & 1] = now.size();
    tables.rule_generation = generation + 1;
    EXPECT_EQ(number(place), before);
    tables.rule_counts[generation & 1] = 0;
    tables.rule_generation = generation + 2;  // rules at hand are of an older one
    EXPECT_EQ(number(place), 0u);
  });
}

// Everything below may be written by a hostile process of the session.
TEST_F(HitStackTest, NumbersOfNoStack) {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{KEVT_STACK_WORDS} - 1, std::uint64_t{KEVT_STACK_WORDS}, ~std::uint64_t{0}})
    EXPECT_THAT(numbered(number), IsEmpty());
  auto& stacks = const_cast<kevt_stacks&>(session_->memory().stacks());
  stacks.words[5] = ~0ull;  // as many addresses as there can be
  EXPECT_EQ(numbered(5).size(), std::size_t{KEVT_STACK_DEPTH});
}

TEST_F(HitStackTest, RecordsThatEndTooEarly) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{8}, sizeof(kevt_stack_sample)})
    EXPECT_THAT(taken(std::vector<std::uint8_t>(bytes)), IsEmpty()) << bytes;
  EXPECT_THAT(taken(std::vector<std::uint8_t>(sizeof(kevt_stack_sample) + 8, 0xff)), IsEmpty());
  inproc::HitStacks unprepared(session_->memory(), getpid());
  std::vector<std::uint8_t> record(5 + sizeof(kevt_stack_sample) + 8);
  std::span<std::uint8_t> rest(record);
  EXPECT_THAT(unprepared.take(rest), IsEmpty());
  EXPECT_EQ(rest.size(), 5u) << "what is no part of the record is cut off all the same";
  EXPECT_EQ(taken(std::vector<std::uint8_t>(sizeof(kevt_stack_sample) + 8)).size(), 1u);  // an address in no file
}

TEST_F(HitStackTest, AnIndexOfNonsenseIsPassedOver) {
  nest(4, [&](const Place& place) {
    ASSERT_NE(number(place), 0u);
    auto& stacks = const_cast<kevt_stacks&>(session_->memory().stacks());
    std::ranges::fill(stacks.slots, ~0u);
    EXPECT_EQ(number(place), 0u);
    std::ranges::fill(stacks.slots, 0u);
    EXPECT_NE(number(place), 0u);
  });
}

TEST_F(HitStackTest, WithoutRoomForAnotherStackItIsSampled) {
  nest(4, [&](const Place& place) {
    auto& stacks = const_cast<kevt_stacks&>(session_->memory().stacks());
    std::ranges::fill(stacks.slots, 0u);
    for (const std::uint64_t used : {std::uint64_t{KEVT_STACK_WORDS}, ~std::uint64_t{0} - 3}) {
      stacks.used = used;
      EXPECT_EQ(number(place), 0u);
      EXPECT_GT(taken(sampled(place)).size(), 4u);
    }
  });
}

}  // namespace
}  // namespace kevt::test
