// Equations over relocated code: every instruction of the copy names what its original names.
#include "runtime-user/runtime/inproc/x86/relocate.h"

#include <Zydis/Zydis.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::x86 {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr RemoteAddr kFrom{0x5555'0000'1000};
constexpr RemoteAddr kNear{0x5555'1000'9000};

Bytes moved(const Bytes& original, RemoteAddr from = kFrom, RemoteAddr to = kNear) {
  const auto result = relocate(original, from, to);
  EXPECT_TRUE(result) << result.error().message();
  return result ? result->code : Bytes{};
}

std::string refusal(const Bytes& original, RemoteAddr to = kNear) {
  const auto result = relocate(original, kFrom, to);
  return result ? "" : result.error().message();
}

struct Decoded {
  ZydisDecodedInstruction in;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  std::uint64_t address;
};

std::optional<Decoded> full(std::span<const std::uint8_t> bytes, std::uint64_t address) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  Decoded result{.address = address};
  const ZyanStatus status =
      ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &result.in, result.operands.data());
  if (!ZYAN_SUCCESS(status)) return std::nullopt;
  return result;
}

std::optional<std::uint64_t> absolute(const Decoded& d, unsigned i) {
  ZyanU64 address = 0;
  if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d.in, &d.operands[i], d.address, &address))) return std::nullopt;
  return address;
}

bool same_memory(const ZydisDecodedOperandMem& a, const ZydisDecodedOperandMem& b) {
  return a.segment == b.segment && a.base == b.base && a.index == b.index && a.scale == b.scale;
}

// Same operation on the same things, wherever the two stand.
bool equivalent(const Decoded& a, const Decoded& b) {
  if (a.in.mnemonic != b.in.mnemonic || a.in.operand_count_visible != b.in.operand_count_visible) return false;
  for (unsigned i = 0; i < a.in.operand_count_visible; ++i) {
    const ZydisDecodedOperand& x = a.operands[i];
    const ZydisDecodedOperand& y = b.operands[i];
    if (x.type != y.type) return false;
    if (x.type == ZYDIS_OPERAND_TYPE_REGISTER && x.reg.value != y.reg.value) return false;
    if (x.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (x.size != y.size || !same_memory(x.mem, y.mem)) return false;
      if (x.mem.base == ZYDIS_REGISTER_RIP ? absolute(a, i) != absolute(b, i) : x.mem.disp.value != y.mem.disp.value) {
        return false;
      }
    }
    if (x.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) continue;
    if (x.imm.is_relative ? absolute(a, i) != absolute(b, i) : x.imm.value.u != y.imm.value.u) return false;
  }
  return true;
}

// An emulated call: push of the return address, then a jump to what the call calls.
bool equivalent_call(const Decoded& call, std::span<const std::uint8_t> copy, std::uint64_t address) {
  const auto push = full(copy, address);
  if (!push || push->in.mnemonic != ZYDIS_MNEMONIC_PUSH) return false;
  std::uint64_t pushed = push->operands[0].imm.value.u;
  std::size_t at = push->in.length;
  auto next = full(copy.subspan(at), address + at);
  if (next && next->in.mnemonic == ZYDIS_MNEMONIC_MOV) {
    pushed = (pushed & 0xffffffff) | next->operands[1].imm.value.u << 32;
    at += next->in.length;
    next = full(copy.subspan(at), address + at);
  }
  if (!next || next->in.mnemonic != ZYDIS_MNEMONIC_JMP || pushed != call.address + call.in.length) return false;
  Decoded jump = *next;
  jump.in.mnemonic = ZYDIS_MNEMONIC_CALL;
  if (jump.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && jump.operands[0].mem.base == ZYDIS_REGISTER_RSP) {
    jump.operands[0].mem.disp.value -= 8;
  }
  return at + jump.in.length == copy.size() && equivalent(call, jump);
}

bool equivalent_region(std::span<const std::uint8_t> original, RemoteAddr from, const Relocated& copy, RemoteAddr to) {
  for (std::size_t i = 0; i + 1 < copy.offsets.size(); ++i) {
    const MovedOffset begin = copy.offsets[i];
    const MovedOffset end = copy.offsets[i + 1];
    const auto a = full(original.subspan(begin.original), from.value + begin.original);
    const std::span<const std::uint8_t> piece(copy.code.data() + begin.relocated, end.relocated - begin.relocated);
    const std::uint64_t at = to.value + begin.relocated;
    if (!a || begin.original + a->in.length != end.original) return false;
    if (a->in.mnemonic == ZYDIS_MNEMONIC_CALL) {
      if (!equivalent_call(*a, piece, at)) return false;
      continue;
    }
    const auto b = full(piece, at);
    if (!b || b->in.length != piece.size() || !equivalent(*a, *b)) return false;
  }
  return copy.offsets.back().original == original.size() && copy.offsets.back().relocated == copy.code.size();
}

TEST(Relocate, MostInstructionsAreCopied) {
  const Bytes same = {0x55, 0x48, 0x89, 0xe5, 0xf3, 0x0f, 0x1e, 0xfa, 0x64,
                      0x48, 0x8b, 0x04, 0x25, 0x28, 0,    0,    0,    0xc3};
  EXPECT_EQ(moved(same), same);
}

TEST(Relocate, OffsetsNameEveryBoundary) {
  const auto result = relocate(Bytes{0x55, 0x75, 0x10, 0xc3}, kFrom, kNear);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->offsets.size(), 4u);
  EXPECT_EQ(result->offsets[1].original, 1);
  EXPECT_EQ(result->offsets[1].relocated, 1);
  EXPECT_EQ(result->offsets[2].original, 3);
  EXPECT_EQ(result->offsets[2].relocated, 7);
  EXPECT_EQ(result->offsets[3].original, 4);
  EXPECT_EQ(result->offsets[3].relocated, 8);
}

TEST(Relocate, ShortBranchesGrow) {
  // 0x1000: jne 0x1012 → at 0x9000: jne 0x1012
  EXPECT_EQ(moved({0x75, 0x10}, {0x1000}, {0x9000}), (Bytes{0x0f, 0x85, 0x0c, 0x80, 0xff, 0xff}));
  EXPECT_EQ(moved({0xeb, 0x10}, {0x1000}, {0x9000}), (Bytes{0xe9, 0x0d, 0x80, 0xff, 0xff}));
  EXPECT_EQ(moved({0xe2, 0xfe}, {0x1000}, {0x9000}), (Bytes{0xe2, 0x02, 0xeb, 0x05, 0xe9, 0xf7, 0x7f, 0xff, 0xff}));
}

TEST(Relocate, CallsPushTheOriginalReturnAddress) {
  EXPECT_EQ(moved({0xe8, 0xfb, 0x0f, 0, 0}, {0x1000}, {0x9000}),  // call 0x2000
            (Bytes{0x68, 0x05, 0x10, 0, 0, 0xe9, 0xf6, 0x8f, 0xff, 0xff}));
  const Bytes high = moved({0xff, 0xd0});
  EXPECT_EQ(high, (Bytes{0x68, 0x02, 0x10, 0x00, 0x00, 0xc7, 0x44, 0x24, 0x04, 0x55, 0x55, 0x00, 0x00, 0xff, 0xe0}));
}

TEST(Relocate, RefusalsSayWhy) {
  EXPECT_THAT(refusal({0x90, 0xcc}), testing::HasSubstr("at +0x1 cannot be moved: it is a trap"));
  EXPECT_THAT(refusal({0x0f, 0x0b}), testing::HasSubstr("trap"));
  EXPECT_THAT(refusal({0xc7, 0xf8, 0, 0, 0, 0}), testing::HasSubstr("transaction"));
  EXPECT_THAT(refusal({0xff, 0x18}), testing::HasSubstr("far transfer"));
  EXPECT_THAT(refusal({0x66, 0xc3}), testing::HasSubstr("16 bits"));
  EXPECT_THAT(refusal({0xff, 0xd4}), testing::HasSubstr("through the stack pointer"));
  EXPECT_THAT(refusal({0xff, 0x54, 0x24, 0xf8}), testing::HasSubstr("below the stack"));
  EXPECT_THAT(refusal({0x67, 0x8b, 0x05, 0, 0, 0, 0}), testing::HasSubstr("EIP"));
  EXPECT_THAT(refusal({0x48}), testing::HasSubstr("no complete instruction"));
  EXPECT_THAT(refusal({0xeb, 0}, {0x7777'0000'0000}), testing::HasSubstr("more than 2 GiB away"));
  EXPECT_THAT(refusal({0x48, 0x8b, 0x05, 0, 0, 0, 0}, {0x7777'0000'0000}), testing::HasSubstr("more than 2 GiB away"));
}

TEST(Relocate, AnyBytesAreRefusedOrEquivalent) {
  std::uint64_t state = 7;
  Bytes bytes(15);
  for (int round = 0; round < 200000; ++round) {
    for (std::uint8_t& byte : bytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::uint8_t>(state >> 56);
    }
    const auto in = decode(bytes);
    if (!in || (in->flow == Flow::ConditionalJump && (bytes[in->opcode_offset] & 0xfc) == 0xe0)) continue;
    const std::span<const std::uint8_t> one(bytes.data(), in->length);
    const auto result = relocate(one, kFrom, kNear);
    if (!result) continue;
    ASSERT_TRUE(equivalent_region(one, kFrom, *result, kNear)) << testing::PrintToString(bytes);
    ASSERT_LE(result->code.size(), max_relocated_size(in->length));
  }
}

// The first instructions of every function of real libraries.
TEST(Relocate, LibrariesStayEquivalent) {
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libz.so.1",
                           "/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/python3.11"}) {
    const auto image = target::ElfImage::open(path);
    if (!image) continue;
    unsigned count = 0;
    for (const target::FunctionRange& function : image->functions()) {
      const auto text = image->bytes_at(function.start, function.size);
      std::size_t length = 0;
      while (length < 5 && length < text.size()) {
        const auto in = decode(text.subspan(length));
        if (!in) break;
        length += in->length;
      }
      const RemoteAddr from{0x7f00'0000'0000 + function.start.value};
      const RemoteAddr to{from.value - 0x1000'0000};
      const auto result = relocate(text.first(length), from, to);
      if (!result) continue;
      ++count;
      ASSERT_TRUE(equivalent_region(text.first(length), from, *result, to))
          << path << " " << std::hex << function.start.value;
    }
    EXPECT_GT(count, image->functions().size() * 95 / 100) << path;
  }
}

}  // namespace
}  // namespace kevt::x86
