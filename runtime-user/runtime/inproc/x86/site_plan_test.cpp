#include "runtime-user/runtime/inproc/x86/site_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

// Functions whose shape is known to the byte; they are found through this program's own symbols.
asm(R"(
  .text
  .macro begin name
  .p2align 6
  .type \name, @function
  \name:
  .cfi_startproc
  .endm
  .macro finish name
  .cfi_endproc
  .size \name, . - \name
  .endm

  begin x86_plain               # 0 push, 1 mov, 4 sub, 8 …
  push %rbp
  mov %rsp, %rbp
  sub $16, %rsp
  leave
  ret
  finish x86_plain

  begin x86_loop_inside         # a short jump comes back to +1
  nop
1: dec %edi
  jnz 1b
  ret
  nop
  finish x86_loop_inside

  begin x86_loop_start          # a jump to +0 is harmless
  sub $1, %rdi
  test %rdi, %rdi
  jnz x86_loop_start
  ret
  finish x86_loop_start

  begin x86_call_first          # call at +1 ends at +6, outside the 5 bytes
  push %rbx
  call x86_plain
  pop %rbx
  ret
  finish x86_call_first

  begin x86_call_early          # call *%rax ends at +2
  call *%rax
  nop
  nop
  nop
  nop
  ret
  finish x86_call_early

  begin x86_tiny                # 3 bytes, padding follows
  xor %eax, %eax
  ret
  finish x86_tiny
  .p2align 6, 0x90

  begin x86_crowded             # 3 bytes, code follows
  xor %eax, %eax
  ret
  finish x86_crowded
  .type x86_follower, @function
x86_follower:
  .cfi_startproc
  nop
  jmp x86_plain
  finish x86_follower

  begin x86_xbegin
  xbegin 1f
  xend
1: ret
  finish x86_xbegin

  begin x86_far_jump            # lands inside x86_far_target, from another function
  nop
  jmp x86_far_target + 1
  finish x86_far_jump
  begin x86_far_target
  nop
  nop
  mov $7, %eax
  ret
  finish x86_far_target

  begin x86_switch              # the table leads to +1 of the second block
  lea x86_table(%rip), %rdx
  movslq (%rdx,%rdi,4), %rax
  add %rdx, %rax
  jmp *%rax
  mov $1, %eax                  # +16: case 0
  nop
1: nop
2: mov $2, %eax
  ret
  finish x86_switch
  .section .rodata
  .p2align 2
x86_table:
  .long x86_switch + 16 - x86_table
  .long 1b - x86_table
  .long 2b - x86_table
  .text

  begin x86_computed            # no table anywhere
  shl $4, %rdi
  lea 1f(%rip), %rax
  lea (%rax,%rdi), %rax
  jmp *%rax
  nop
1: mov $1, %eax
  ret
  finish x86_computed

  begin x86_labels              # a pointer in data leads to +8
  mov %rdi, %rax
  jmp *x86_pointers(%rip)
  nop
  mov $1, %edx
  ret
  finish x86_labels
  .data
  .p2align 3
x86_pointers:
  .quad x86_labels + 11
  .text

  begin x86_restartable
  nop
  .p2align 3
  mov $1, %eax                  # +8: the sequence, 10 bytes
  mov $2, %edx
  ret
  finish x86_restartable
  .section __rseq_cs, "aw"
  .p2align 5
  .long 0, 0
  .quad x86_restartable + 8, 10, x86_plain
  .text
)");
extern "C" {
void x86_plain();
}

namespace kevt::x86 {
namespace {

using target::ElfImage;

class SitePlanTest : public testing::Test {
 protected:
  SitePlanTest() : image_(*ElfImage::open("/proc/self/exe")), planner_(image_) {}

  // Both ways of planning must agree.
  SitePlan plan(const char* function, std::uint64_t offset = 0) {
    const auto found = image_.find_functions(function);
    EXPECT_EQ(found.size(), 1u) << function;
    SitePlan planned = planner_.plan(found.at(0).address + offset);
    const SitePlan alone = plan_site(image_, found.at(0).address + offset);
    EXPECT_EQ(alone.kind, planned.kind);
    EXPECT_EQ(alone.reason, planned.reason);
    return planned;
  }

  ElfImage image_;
  SitePlanner planner_;
};

TEST_F(SitePlanTest, PlainPrologue) {
  const SitePlan found = plan("x86_plain");
  EXPECT_EQ(found.kind, ArmKind::Jump) << found.reason;
  EXPECT_EQ(found.displaced, 8u);
  EXPECT_EQ(found.original, (std::vector<std::uint8_t>{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10}));
}

TEST_F(SitePlanTest, NotAnInstructionStart) {
  const SitePlan found = plan("x86_plain", 2);
  EXPECT_EQ(found.kind, ArmKind::Refused);
  EXPECT_EQ(found.reason, "not at the start of an instruction (the one at +0x1 covers it)");
}

TEST_F(SitePlanTest, ShortJumpInside) {
  const SitePlan found = plan("x86_loop_inside");
  EXPECT_EQ(found.kind, ArmKind::Breakpoint);
  EXPECT_EQ(found.displaced, 1u);
  EXPECT_EQ(found.reason, "a jump at +0x3 lands inside the 5 bytes");
}

TEST_F(SitePlanTest, JumpToTheFirstByteIsFine) { EXPECT_EQ(plan("x86_loop_start").kind, ArmKind::Jump); }

TEST_F(SitePlanTest, CallsMustNotReturnInside) {
  const SitePlan last = plan("x86_call_first");
  EXPECT_EQ(last.kind, ArmKind::Jump) << last.reason;
  EXPECT_EQ(last.displaced, 6u);
  const SitePlan early = plan("x86_call_early");
  EXPECT_EQ(early.kind, ArmKind::Breakpoint);
  EXPECT_EQ(early.reason, "the call at +0x0 would return into the 5 bytes");
}

TEST_F(SitePlanTest, PaddingBehindShortFunctions) {
  const SitePlan tiny = plan("x86_tiny");
  EXPECT_EQ(tiny.kind, ArmKind::Jump) << tiny.reason;
  EXPECT_EQ(tiny.displaced, 3u);
  EXPECT_EQ(tiny.original.size(), 5u);
  const SitePlan crowded = plan("x86_crowded");
  EXPECT_EQ(crowded.kind, ArmKind::Breakpoint);
}

TEST_F(SitePlanTest, WhatCannotMoveIsRefused) {
  const SitePlan found = plan("x86_xbegin");
  EXPECT_EQ(found.kind, ArmKind::Refused);
  EXPECT_THAT(found.reason, testing::HasSubstr("transaction"));
}

TEST_F(SitePlanTest, JumpFromAnotherFunction) {
  const SitePlan found = plan("x86_far_target");
  EXPECT_EQ(found.kind, ArmKind::Breakpoint);
  EXPECT_THAT(found.reason, testing::MatchesRegex("a jump at 0x[0-9a-f]+ lands inside the 5 bytes"));
}

TEST_F(SitePlanTest, JumpTables) {
  EXPECT_EQ(plan("x86_switch").kind, ArmKind::Jump);
  const SitePlan block = plan("x86_switch", 16);  // mov is 5 bytes: the table's other entries are behind it
  EXPECT_EQ(block.kind, ArmKind::Jump) << block.reason;
  const SitePlan inside = plan("x86_switch", 21);  // nop, nop (case 1), mov (case 2)
  EXPECT_EQ(inside.kind, ArmKind::Breakpoint);
  EXPECT_THAT(inside.reason, testing::MatchesRegex("the jump table at 0x[0-9a-f]+ leads inside the 5 bytes"));
}

TEST_F(SitePlanTest, UnknownIndirectJump) {
  EXPECT_EQ(plan("x86_computed").kind, ArmKind::Jump);
  const SitePlan middle = plan("x86_computed", 4);
  EXPECT_EQ(middle.kind, ArmKind::Breakpoint);
  EXPECT_EQ(middle.reason, "the targets of the indirect jump at +0xf are not known");
}

TEST_F(SitePlanTest, PointersInData) {
  const SitePlan found = plan("x86_labels", 9);
  EXPECT_EQ(found.kind, ArmKind::Breakpoint);
  EXPECT_THAT(found.reason, testing::MatchesRegex("the pointer at 0x[0-9a-f]+ leads inside the 5 bytes"));
}

TEST_F(SitePlanTest, RestartableSequencesAreLeftAlone) {
  EXPECT_EQ(plan("x86_restartable", 0).kind, ArmKind::Jump);
  EXPECT_EQ(plan("x86_restartable", 8).kind, ArmKind::Refused);
  const SitePlan inside = plan("x86_restartable", 13);
  EXPECT_EQ(inside.kind, ArmKind::Refused);
  EXPECT_THAT(inside.reason, testing::HasSubstr("rseq"));
}

TEST_F(SitePlanTest, OutsideCode) {
  EXPECT_THAT(planner_.plan({0}).reason, testing::HasSubstr("not in executable code"));
  EXPECT_EQ(planner_.plan({~std::uint64_t{0}}).kind, ArmKind::Refused);
}

TEST(ReturnProbes, Refusals) {
  for (const char* name : {"setjmp", "__sigsetjmp", "_setjmp", "vfork", "__clone", "clone3", "swapcontext", "dlopen",
                           "dlsym", "_Unwind_Resume", "_start"}) {
    EXPECT_TRUE(return_probe_refusal(name)) << name;
  }
  for (const char* name : {"open", "longjmp", "start", "fork", "clonefile", "main"}) {
    EXPECT_FALSE(return_probe_refusal(name)) << name;
  }
  EXPECT_EQ(*return_probe_refusal("vfork"),
            "no return probe on `vfork`: parent and child return through the same stack");
}

}  // namespace
}  // namespace kevt::x86
