#include "runtime-user/runtime/inproc/x86/decode.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "common/abi/registers.h"

namespace kevt::x86 {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint32_t word(std::size_t offset) { return 1u << (offset / 8); }

TEST(Decode, Flow) {
  EXPECT_EQ(decode(Bytes{0x55})->flow, Flow::Next);
  EXPECT_EQ(decode(Bytes{0xc3})->flow, Flow::Return);
  EXPECT_EQ(decode(Bytes{0xeb, 0x10})->flow, Flow::Jump);
  EXPECT_EQ(decode(Bytes{0x75, 0x10})->flow, Flow::ConditionalJump);
  EXPECT_EQ(decode(Bytes{0xe3, 0x10})->flow, Flow::ConditionalJump);
  EXPECT_EQ(decode(Bytes{0xe8, 1, 0, 0, 0})->flow, Flow::Call);
  EXPECT_EQ(decode(Bytes{0xff, 0xd0})->flow, Flow::IndirectCall);
  EXPECT_EQ(decode(Bytes{0xff, 0x25, 1, 0, 0, 0})->flow, Flow::IndirectJump);
  EXPECT_EQ(decode(Bytes{0x3e, 0xff, 0xe0})->flow, Flow::IndirectJump);
  EXPECT_EQ(decode(Bytes{0xcc})->flow, Flow::Trap);
  EXPECT_EQ(decode(Bytes{0x0f, 0x0b})->flow, Flow::Trap);
  EXPECT_EQ(decode(Bytes{0xc7, 0xf8, 0, 0, 0, 0})->flow, Flow::Other);  // xbegin
  EXPECT_EQ(decode(Bytes{0xff, 0x18})->flow, Flow::Other);              // lcall *(%rax)
  EXPECT_EQ(decode(Bytes{0xcb})->flow, Flow::Other);                    // lret
  EXPECT_EQ(decode(Bytes{0x48, 0xcf})->flow, Flow::Other);              // iretq
}

TEST(Decode, DistancesCountFromTheStart) {
  EXPECT_EQ(decode(Bytes{0xeb, 0xfe})->branch, 0);
  EXPECT_EQ(decode(Bytes{0x0f, 0x84, 0x10, 0, 0, 0})->branch, 0x16);
  EXPECT_EQ(decode(Bytes{0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0})->rip_operand, 0x1000);
  // an immediate behind the displacement counts too: cmpl $1, 0x10(%rip)
  EXPECT_EQ(decode(Bytes{0x83, 0x3d, 0x10, 0, 0, 0, 0x01})->rip_operand, 0x17);
  EXPECT_FALSE(decode(Bytes{0x48, 0x8b, 0x00})->rip_operand);
}

TEST(Decode, ShapesNameRegisters) {
  const auto load = decode(Bytes{0x4b, 0x63, 0x14, 0x8b});  // movslq (%r11,%r9,4),%rdx
  EXPECT_EQ(load->shape, Shape::LoadSigned32);
  EXPECT_EQ(load->destination, 2);
  EXPECT_EQ(load->base, 11);
  EXPECT_EQ(load->index, 9);
  EXPECT_EQ(load->scale, 4);
  const auto add = decode(Bytes{0x4c, 0x01, 0xd8});  // add %r11,%rax
  EXPECT_EQ(add->shape, Shape::AddRegister64);
  EXPECT_EQ(add->destination, 0);
  EXPECT_EQ(add->source, 11);
  const auto copy = decode(Bytes{0x49, 0x89, 0xc3});  // mov %rax,%r11
  EXPECT_EQ(copy->shape, Shape::CopyRegister64);
  EXPECT_EQ(copy->destination, 11);
  EXPECT_EQ(copy->source, 0);
  const auto jump = decode(Bytes{0x41, 0xff, 0xe3});  // jmp *%r11
  EXPECT_EQ(jump->source, 11);
  const auto immediate = decode(Bytes{0x41, 0xb9, 0x78, 0x56, 0x34, 0x12});  // mov $0x12345678,%r9d
  EXPECT_EQ(immediate->shape, Shape::LoadImmediate32);
  EXPECT_EQ(immediate->destination, 9);
  EXPECT_EQ(immediate->immediate, 0x12345678u);
}

TEST(Decode, RefusesWhatIsIncomplete) {
  EXPECT_FALSE(decode(Bytes{}));
  EXPECT_FALSE(decode(Bytes{0x48, 0x8b}));
  EXPECT_FALSE(decode(Bytes{0x06}));  // push %es does not exist in 64-bit code
}

TEST(Clobbers, WordsOfTheRegisterBlock) {
  // mov %rdi,%rax; xor %r15d,%r15d
  EXPECT_EQ(clobbered_registers(Bytes{0x48, 0x89, 0xf8}), word(offsetof(kevt_registers, ax)));
  EXPECT_EQ(clobbered_registers(Bytes{0x45, 0x31, 0xff}),
            word(offsetof(kevt_registers, r15)) | word(offsetof(kevt_registers, flags)));
  // part of a register counts: mov $1,%bh
  EXPECT_EQ(clobbered_registers(Bytes{0xb7, 0x01}), word(offsetof(kevt_registers, bx)));
  // operands that are not spelled out: push %rax; mul %rcx; syscall
  EXPECT_EQ(clobbered_registers(Bytes{0x50}), word(offsetof(kevt_registers, sp)));
  EXPECT_EQ(clobbered_registers(Bytes{0x48, 0xf7, 0xe1}), word(offsetof(kevt_registers, ax)) |
                                                              word(offsetof(kevt_registers, dx)) |
                                                              word(offsetof(kevt_registers, flags)));
  const std::uint32_t syscall = clobbered_registers(Bytes{0x0f, 0x05});
  EXPECT_TRUE(syscall & word(offsetof(kevt_registers, cx)));
  EXPECT_TRUE(syscall & word(offsetof(kevt_registers, r11)));
  // reading is not writing: cmp, test, stores
  EXPECT_EQ(clobbered_registers(Bytes{0x48, 0x89, 0x07}), 0u);
}

TEST(Clobbers, EveryRegisterHasItsWord) {
  constexpr std::size_t kOffsets[] = {
      offsetof(kevt_registers, ax),  offsetof(kevt_registers, cx),  offsetof(kevt_registers, dx),
      offsetof(kevt_registers, bx),  offsetof(kevt_registers, sp),  offsetof(kevt_registers, bp),
      offsetof(kevt_registers, si),  offsetof(kevt_registers, di),  offsetof(kevt_registers, r8),
      offsetof(kevt_registers, r9),  offsetof(kevt_registers, r10), offsetof(kevt_registers, r11),
      offsetof(kevt_registers, r12), offsetof(kevt_registers, r13), offsetof(kevt_registers, r14),
      offsetof(kevt_registers, r15)};
  for (std::uint8_t reg = 0; reg < 16; ++reg) {  // mov $0, %reg
    const Bytes code = {
        static_cast<std::uint8_t>(reg < 8 ? 0x40 : 0x41), static_cast<std::uint8_t>(0xb8 | (reg & 7)), 0, 0, 0, 0};
    EXPECT_EQ(clobbered_registers(code), word(kOffsets[reg])) << int{reg};
  }
}

TEST(Clobbers, CallsAndGarbageCountAsMuch) {
  const std::uint32_t outside = clobbered_registers(Bytes{0xe8, 0x00, 0x10, 0, 0});
  EXPECT_TRUE(outside & word(offsetof(kevt_registers, r8)));
  EXPECT_FALSE(outside & word(offsetof(kevt_registers, bx)));
  // a call inside the blob is seen by walking on: call +0; ret
  EXPECT_FALSE(clobbered_registers(Bytes{0xe8, 0, 0, 0, 0, 0xc3}) & word(offsetof(kevt_registers, r8)));
  EXPECT_TRUE(clobbered_registers(Bytes{0x06}) & word(offsetof(kevt_registers, r12)));
}

}  // namespace
}  // namespace kevt::x86
