#include "compiler/target/process/stack_unwinder.h"

#include <elf.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <cstring>

#include "compiler/target/elf/elf_image.h"

namespace kevt::target {
namespace {

// This thread here, with glibc's own answer.
struct Taken {
  ucontext_t context;
  std::uint8_t stack[3072];
  void* callers[128];
  int count;
};

// All of it, also what lies between variables: nothing for a sanitizer to look at, nor for memcpy().
[[gnu::noinline, gnu::no_sanitize_address]] void copy_stack(const volatile std::uint8_t* from,
                                                            volatile std::uint8_t* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

[[gnu::noinline]] void take(Taken& out) {
  getcontext(&out.context);
  const auto sp = static_cast<std::uintptr_t>(out.context.uc_mcontext.gregs[REG_RSP]);
  copy_stack(reinterpret_cast<const std::uint8_t*>(sp), out.stack, sizeof out.stack);
  out.count = backtrace(out.callers, 128);
}
// Frames of their own, which no optimizer joins.
[[gnu::noinline]] void inner(Taken& out, int depth) {
  [[maybe_unused]] volatile char room[64] = {};
  room[depth] = 1;
  if (depth > 0)
    inner(out, depth - 1);
  else
    take(out);
  room[depth] = 2;
}

StackSample sample_of(const Taken& taken, std::size_t bytes) {
  const auto& r = taken.context.uc_mcontext.gregs;
  const auto word = [&](int index) { return static_cast<std::uint64_t>(r[index]); };
  return {.pc = word(REG_RIP),
          .sp = word(REG_RSP),
          .bx = word(REG_RBX),
          .bp = word(REG_RBP),
          .r12 = word(REG_R12),
          .r13 = word(REG_R13),
          .r14 = word(REG_R14),
          .r15 = word(REG_R15),
          .stack = {taken.stack, bytes}};
}

// Of the first frame each tells another place in take(); a sanitizer's backtrace() is a frame of its own.
void expect_callers(const std::vector<std::uint64_t>& got, const Taken& taken) {
  if (got.size() < 2) return;
  const std::vector<void*> all(taken.callers, taken.callers + taken.count);
  const auto second = std::ranges::find(all, reinterpret_cast<void*>(got[1]));
  ASSERT_LE(second - all.begin(), 2);
  ASSERT_GE(all.end() - second, static_cast<std::ptrdiff_t>(got.size() - 1));
  for (std::size_t i = 1; i < got.size(); ++i)
    EXPECT_EQ(got[i], reinterpret_cast<std::uintptr_t>(*(second + static_cast<std::ptrdiff_t>(i - 1)))) << i;
}

TEST(StackUnwinder, FindsWhatGlibcFinds) {
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder) << unwinder.error().message();
  Taken taken = {};
  inner(taken, 5);
  const auto got = unwinder->unwind(sample_of(taken, sizeof taken.stack));
  ASSERT_GE(got.size(), 7u);
  expect_callers(got, taken);
}

TEST(StackUnwinder, EndsWhereThePieceEnds) {
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder);
  Taken taken = {};
  inner(taken, 20);
  std::size_t before = 0;
  for (std::size_t bytes : {0u, 256u, 1024u, 3072u}) {
    const auto got = unwinder->unwind(sample_of(taken, bytes));
    ASSERT_GE(got.size(), std::max<std::size_t>(before, 1));
    before = got.size();
    expect_callers(got, taken);
  }
  EXPECT_GT(before, 8u);
}

// A signal handler may have interrupted it: at a function's start the caller's address lies on top of the stack.
TEST(StackUnwinder, GoesThroughTheVdso) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  ASSERT_NE(at, nullptr);
  Elf64_Ehdr header;
  std::memcpy(&header, at, sizeof header);
  const auto image = ElfImage::from_bytes({at, at + header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr)}, "vdso");
  ASSERT_TRUE(image) << image.error().message();
  const auto functions = image->find_functions("__vdso_clock_gettime");
  ASSERT_EQ(functions.size(), 1u);
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder);
  const std::uint64_t caller = reinterpret_cast<std::uint64_t>(&sample_of) + 4;
  std::uint8_t stack[64] = {};
  std::memcpy(stack, &caller, sizeof caller);
  const std::uint64_t pc = reinterpret_cast<std::uint64_t>(at) + functions.front().address.value;
  EXPECT_THAT(unwinder->unwind({.pc = pc, .sp = 0x7ff0'0000, .stack = stack}), testing::ElementsAre(pc, caller));
}

TEST(StackUnwinder, TakesAnyNonsense) {
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder);
  const std::uint8_t ones[64] = {0xff, 0xff};
  EXPECT_THAT(unwinder->unwind({.pc = 0x10, .stack = ones}), testing::ElementsAre(0x10));
  EXPECT_THAT(unwinder->unwind({.pc = ~0ull, .sp = ~0ull, .bp = ~0ull, .stack = ones}), testing::ElementsAre(~0ull));
  const auto here = reinterpret_cast<std::uint64_t>(&sample_of);
  EXPECT_EQ(unwinder->unwind({.pc = here, .sp = ~7ull, .bp = 8, .stack = ones}).front(), here);
}

TEST(StackUnwinder, RefusesAProcessThatIsNotThere) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(StackUnwinder::of_process(child));
}

}  // namespace
}  // namespace kevt::target
