#include "compiler/target/process/jit_frames.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/page.h"
#include "compiler/target/process/stack_unwinder.h"

namespace kevt::target {

namespace {

constexpr std::uint64_t kNone = KEVT_STACK_NO_RULE;
constexpr std::uint64_t kOnTop = KEVT_STACK_RULE(KEVT_STACK_FROM_SP, 0, 8, 0);

// Two pages of code of this process that have no file, and a perf map of this process.
class JitFramesTest : public testing::Test {
 protected:
  JitFramesTest() {
    void* const made = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(made, MAP_FAILED);
    code = reinterpret_cast<std::uint64_t>(made);
  }
  ~JitFramesTest() override {
    munmap(reinterpret_cast<void*>(code), 2 * kPage);
    std::filesystem::remove(map);
  }
  void write_map(const std::string& lines) { std::ofstream(map) << lines; }
  std::string line(std::uint64_t offset, std::uint64_t size, std::string_view name) const {
    char text[128];
    snprintf(text, sizeof text, "%lx %lx %s\n", code + offset, size, std::string(name).c_str());
    return text;
  }
  bool look() { return frames.look(getpid(), read_maps(getpid()).value()); }

  std::uint64_t code = 0;
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  JitFrames frames;
};

TEST_F(JitFramesTest, CodeWithoutAFileHasFramePointersButAtAnEntry) {
  EXPECT_TRUE(look());
  EXPECT_FALSE(look());
  EXPECT_EQ(frames.rule_at(code + 100), KEVT_STACK_BY_FRAME_POINTER);
  write_map(line(0x100, 0x40, "LazyCompile:*fib /app/a.js:1:13") + line(0x200, 0x40, "py::not_one:/app/a.py"));
  EXPECT_TRUE(look());
  EXPECT_EQ(frames.rule_at(code + 0xff), KEVT_STACK_BY_FRAME_POINTER);
  EXPECT_EQ(frames.rule_at(code + 0x100), kOnTop);
  EXPECT_EQ(frames.rule_at(code + 0x101), KEVT_STACK_BY_FRAME_POINTER);
  EXPECT_EQ(frames.rule_at(code + 0x210), KEVT_STACK_BY_FRAME_POINTER);  // its code is no trampoline
  EXPECT_EQ(frames.rule_at(code + 2 * kPage), kNone);
  EXPECT_EQ(frames.rule_at(reinterpret_cast<std::uint64_t>(&std::strlen)), kNone);
  EXPECT_EQ(frames.rule_at(0), kNone);
}

TEST_F(JitFramesTest, TrampolinesOfCPythonKeepNoFramePointer) {
  const std::uint8_t trampoline[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  auto* const at = reinterpret_cast<std::uint8_t*>(code);
  std::memcpy(at + 0x20, trampoline, sizeof trampoline);
  std::memcpy(at + 0x2b, trampoline, sizeof trampoline);
  at[0x2b] = 0xcc;  // a probe
  const std::uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  std::memcpy(at + 0x60, endbr64, sizeof endbr64);
  std::memcpy(at + 0x64, trampoline, sizeof trampoline);
  write_map(line(0x20, 11, "py::leaf:/app/a.py") + line(0x2b, 11, "py::root:/app/a.py") +
            line(0x36, 11, "py::none:/app/a.py") + line(0x60, 15, "py::cet:/app/a.py"));
  EXPECT_TRUE(look());
  const std::uint64_t inside = KEVT_STACK_RULE(KEVT_STACK_FROM_SP, 0, 16, 0);
  for (const std::uint64_t start : {0x20, 0x2b, 0x60}) {
    EXPECT_EQ(frames.rule_at(code + start), kOnTop);
    EXPECT_EQ(frames.rule_at(code + start + 5), inside);
  }
  EXPECT_EQ(frames.rule_at(code + 0x3b), KEVT_STACK_BY_FRAME_POINTER);
}

TEST_F(JitFramesTest, AMapThatGoesTakesItsFunctionsAlong) {
  write_map(line(0x100, 0x40, "fib"));
  look();
  std::filesystem::remove(map);
  EXPECT_TRUE(look());
  EXPECT_EQ(frames.rule_at(code + 0x100), KEVT_STACK_BY_FRAME_POINTER);
  EXPECT_TRUE(frames.look(getpid(), {}));
  EXPECT_TRUE(frames.rules().empty());
}

TEST_F(JitFramesTest, ASecondCopyOfAPartOfAFileIsSuchCode) {
  const auto maps = read_maps(getpid()).value();
  const auto text = std::ranges::find_if(
      maps, [](const Mapping& one) { return one.is_file() && one.executable && one.offset.value != 0; });
  ASSERT_NE(text, maps.end());
  EXPECT_EQ((look(), frames.rule_at(text->start.value)), kNone);
  const int file = open(text->path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const copy =
      mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, static_cast<off_t>(text->offset.value));
  close(file);
  ASSERT_NE(copy, MAP_FAILED);
  EXPECT_TRUE(look());
  EXPECT_EQ(frames.rule_at(reinterpret_cast<std::uint64_t>(copy) + 8), KEVT_STACK_BY_FRAME_POINTER);
  munmap(copy, kPage);
}

// As .NET's: written in one place, run in another. The agent's own is none.
TEST_F(JitFramesTest, SharedMemoryIsSuchCodeButTheAgents) {
  for (const auto& [name, rule] :
       {std::pair("doublemapper", std::uint64_t{KEVT_STACK_BY_FRAME_POINTER}), {"kevtrace", kNone}}) {
    const int file = memfd_create(name, MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 2 * kPage), 0);
    for (const off_t offset : {off_t{0}, static_cast<off_t>(kPage)}) {
      void* const code_of_it = mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_SHARED, file, offset);
      ASSERT_NE(code_of_it, MAP_FAILED);
      look();
      EXPECT_EQ(frames.rule_at(reinterpret_cast<std::uint64_t>(code_of_it) + 8), rule) << name << " " << offset;
      munmap(code_of_it, kPage);
    }
    close(file);
  }
}

// In a probed function of the JIT's; called by code of this file; by the JIT's code; by a trampoline; by this file.
TEST_F(JitFramesTest, StacksGoThroughIt) {
  const std::uint8_t trampoline[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  std::memcpy(reinterpret_cast<std::uint8_t*>(code) + kPage, trampoline, sizeof trampoline);
  write_map(line(0x100, 0x40, "probed") + line(kPage, 11, "py::root:/app/a.py"));
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder) << unwinder.error().message();
  const auto here = reinterpret_cast<std::uint64_t>(&strdup);  // at a function's start
  const std::uint64_t sp = 0x7ff0'0000;
  const std::uint64_t stack[] = {
      code + 0x20,                    // the return address into other code of the JIT's, whose frame pointer is sp + 16
      0,           sp + 32,           // its local, its caller's frame pointer
      code + 0x60,                    // a return address
      sp + 1000,   code + kPage + 6,  // its caller's frame pointer, behind the trampoline's call
      0,           here + 1,          // the trampoline's padding; a return address behind a function's first byte
      0x10,
  };
  const StackSample sample{.pc = code + 0x100,
                           .sp = sp,
                           .bp = sp + 16,
                           .stack = {reinterpret_cast<const std::uint8_t*>(stack), sizeof stack}};
  EXPECT_THAT(unwinder->unwind(sample),
              testing::ElementsAre(code + 0x100, code + 0x20, code + 0x60, code + kPage + 6, here + 1));
  const auto rules = unwinder->rules(1 << 20);
  EXPECT_TRUE(std::ranges::is_sorted(rules, {}, &kevt_stack_rule::start));
  const auto of = [&](std::uint64_t address) {
    return std::prev(std::ranges::upper_bound(rules, address, {}, &kevt_stack_rule::start))->rule;
  };
  EXPECT_EQ(of(code + 0x100), kOnTop);
  EXPECT_EQ(of(code + 0x120), KEVT_STACK_BY_FRAME_POINTER);
  EXPECT_EQ(of(here), kOnTop);
}

// Frame pointers that lead nowhere, around in circles or down end the stack.
TEST_F(JitFramesTest, TakesAnyNonsense) {
  auto unwinder = StackUnwinder::of_process(getpid());
  ASSERT_TRUE(unwinder);
  const std::uint64_t sp = 0x7ff0'0000;
  // A return address at the first byte of the code is none: a call would lie before it.
  const std::uint64_t stack[] = {sp, code + 8, sp, code + 8, sp - 8, code + 8, sp + 80, code, sp, code + 2 * kPage};
  for (const std::uint64_t at : {sp + 48, sp + 64})
    EXPECT_LE(unwinder
                  ->unwind({.pc = code + 4,
                            .sp = sp,
                            .bp = at,
                            .stack = {reinterpret_cast<const std::uint8_t*>(stack), sizeof stack}})
                  .size(),
              2u);
  for (const std::uint64_t bp : {sp, sp + 16, sp + 32, sp - 16, sp + 40, std::uint64_t{0}, ~std::uint64_t{0}}) {
    const auto got = unwinder->unwind(
        {.pc = code + 4, .sp = sp, .bp = bp, .stack = {reinterpret_cast<const std::uint8_t*>(stack), sizeof stack}});
    EXPECT_EQ(got.front(), code + 4);
    EXPECT_LE(got.size(), 4u);
  }
}

using Rules = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Rules joined(const Rules& files, const Rules& jit) {
  const auto as_rules = [](const Rules& pairs) {
    std::vector<kevt_stack_rule> rules;
    for (const auto& [start, rule] : pairs) rules.push_back({start, rule});
    return rules;
  };
  Rules made;
  for (const kevt_stack_rule& one : joined_rules(as_rules(files), as_rules(jit)))
    made.emplace_back(one.start, one.rule);
  return made;
}

TEST(JoinedRules, TheJitsCountWhereItSaysSomething) {
  const Rules files = {{0, kNone}, {0x100, 5}, {0x200, kNone}, {0x400, 6}, {0x500, kNone}};
  EXPECT_EQ(joined(files, {}), files);
  EXPECT_EQ(joined(files, {{0x300, 7}, {0x310, 8}, {0x400, kNone}}),
            (Rules{{0, kNone}, {0x100, 5}, {0x200, kNone}, {0x300, 7}, {0x310, 8}, {0x400, 6}, {0x500, kNone}}));
  EXPECT_EQ(joined(files, {{0x180, 7}, {0x600, kNone}}), (Rules{{0, kNone}, {0x100, 5}, {0x180, 7}, {0x600, kNone}}));
}

}  // namespace
}  // namespace kevt::target
