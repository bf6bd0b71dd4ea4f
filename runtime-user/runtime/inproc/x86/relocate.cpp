// Moving whole instructions: what a displaced probe site needs to run out of line.
//
// Most instructions mean the same anywhere and are copied. What depends on its own address is
// re-encoded, here moved from 0x1000 to 0x9000:
//
//   75 10               jne 0x1012        0f 85 0c 80 ff ff       jne 0x1012
//   48 8b 05 f9 0f 00…  mov 0x2000(%rip)  48 8b 05 f9 8f ff ff    mov with the distance corrected
//   e2 fe               loop X            e2 02 eb 05 e9 rel32    loop +2; jmp +5; jmp X
//   e8 rel32            call F            68 lo32 [c7 44 24 04 hi32] e9 rel32
//                                         push the ORIGINAL return address, jmp F
//   ff 53 18            call *0x18(%rbx)  the same push, then ff 63 18 jmp *0x18(%rbx)
//
// A call's return address is the original one so that unwinders, backtraces and longjmp never see the
// copy. What cannot move is refused: branches cut to 16 bits, far transfers, transactions, traps that
// report their own address, calls through the stack pointer.
// Mirrors in intent arch/x86/kernel/kprobes/core.c (__copy_instruction, 6.1), which emulates the
// branches instead of moving them. Not done: shadow stacks (an emulated call pushes on one stack only).
#include "runtime-user/runtime/inproc/x86/relocate.h"

#include <fmt/format.h>

#include <limits>

namespace kevt::x86 {

std::optional<std::string_view> immovable(const Instruction& in) {
  if (in.rip_operand && in.address_size_prefix) return "its operand is relative to EIP";
  if (in.flow != Flow::Next && in.operand_bits == 16) return "it cuts the instruction pointer to 16 bits";
  switch (in.flow) {
    case Flow::Next:
    case Flow::Return:
    case Flow::IndirectJump:
    case Flow::Jump:
    case Flow::ConditionalJump:
    case Flow::Call:
      return std::nullopt;
    case Flow::IndirectCall:
      if (!in.has_memory && in.source == kStackPointer) return "it calls through the stack pointer";
      if (in.has_memory && in.base == kStackPointer && in.displacement < 0)
        return "it calls through a word below the stack";
      return std::nullopt;
    case Flow::Trap:
      return "it is a trap that reports its own address";
    case Flow::Other:
      return "it is a far transfer, a return from the kernel or a transaction";
  }
  return std::nullopt;
}

namespace {

class Mover {
 public:
  Mover(RemoteAddr from, RemoteAddr to) : from_(from), to_(to) {}

  Result<void> move(std::span<const std::uint8_t> bytes, const Instruction& in, std::uint64_t offset);
  std::vector<std::uint8_t>& code() { return code_; }

 private:
  std::uint64_t original_of(std::int64_t distance) const {
    return from_.value + offset_ + static_cast<std::uint64_t>(distance);
  }
  std::unexpected<Error> refuse(std::string_view why) const {
    return std::unexpected(Error(fmt::format("the instruction at +{:#x} cannot be moved: {}", offset_, why)));
  }
  void byte(std::uint8_t value) { code_.push_back(value); }
  void word(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  // Appends the 4-byte distance to `target`, counted from `trailing` bytes behind itself.
  Result<void> distance_to(std::uint64_t target, unsigned trailing);
  Result<void> jump_to(std::uint64_t target);
  Result<void> move_conditional(std::span<const std::uint8_t> bytes, const Instruction& in);
  void push_return_address(std::uint64_t address);
  Result<void> move_indirect_call(std::span<const std::uint8_t> bytes, const Instruction& in);
  Result<void> copy(std::span<const std::uint8_t> bytes, const Instruction& in);

  RemoteAddr from_;
  RemoteAddr to_;
  std::uint64_t offset_ = 0;
  std::vector<std::uint8_t> code_;
};

Result<void> Mover::distance_to(std::uint64_t target, unsigned trailing) {
  const std::uint64_t behind = to_.value + code_.size() + 4 + trailing;
  const auto distance = static_cast<std::int64_t>(target - behind);
  if (distance != static_cast<std::int32_t>(distance)) {
    return refuse(fmt::format("{:#x} is more than 2 GiB away from its copy", target));
  }
  word(static_cast<std::uint32_t>(distance));
  return {};
}

Result<void> Mover::jump_to(std::uint64_t target) {
  byte(0xe9);
  return distance_to(target, 0);
}

Result<void> Mover::move_conditional(std::span<const std::uint8_t> bytes, const Instruction& in) {
  const std::uint64_t target = original_of(*in.branch);
  const std::uint8_t opcode = bytes[in.opcode_offset];
  if (opcode >= 0xe0 && opcode <= 0xe3) {  // loopne, loope, loop, jrcxz: short form only
    if (in.address_size_prefix) byte(0x67);
    byte(opcode);
    byte(0x02);
    byte(0xeb);
    byte(0x05);
    return jump_to(target);
  }
  const std::uint8_t condition = opcode == 0x0f ? bytes[in.opcode_offset + 1u] : opcode;
  byte(0x0f);
  byte(static_cast<std::uint8_t>(0x80 | (condition & 0x0f)));
  return distance_to(target, 0);
}

void Mover::push_return_address(std::uint64_t address) {
  const auto low = static_cast<std::uint32_t>(address);
  byte(0x68);  // pushq $low, sign extended
  word(low);
  const auto extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(low)));
  if (extended == address) return;
  for (const std::uint8_t part : {0xc7, 0x44, 0x24, 0x04}) byte(part);  // movl $high, 4(%rsp)
  word(static_cast<std::uint32_t>(address >> 32));
}

Result<void> Mover::move_indirect_call(std::span<const std::uint8_t> bytes, const Instruction& in) {
  push_return_address(original_of(in.length));
  const bool through_stack = in.has_memory && in.base == kStackPointer;
  for (unsigned i = 0; i < in.modrm_offset; ++i) byte(bytes[i]);
  const auto jump_modrm = static_cast<std::uint8_t>((bytes[in.modrm_offset] & 0xc7) | 0x20);  // /2 → /4
  if (through_stack) {  // the push has moved the stack pointer by 8; always 32 bits of displacement
    byte(static_cast<std::uint8_t>((jump_modrm & 0x3f) | 0x80));
    byte(bytes[in.modrm_offset + 1u]);
    const std::int64_t displacement = in.displacement + 8;
    if (displacement > std::numeric_limits<std::int32_t>::max()) return refuse("its displacement is too large");
    word(static_cast<std::uint32_t>(displacement));
    return {};
  }
  byte(jump_modrm);
  if (in.rip_operand) return distance_to(original_of(*in.rip_operand), 0);
  for (unsigned i = in.modrm_offset + 1u; i < in.length; ++i) byte(bytes[i]);
  return {};
}

Result<void> Mover::copy(std::span<const std::uint8_t> bytes, const Instruction& in) {
  if (!in.rip_operand) {
    code_.insert(code_.end(), bytes.begin(), bytes.end());
    return {};
  }
  const unsigned behind = in.displacement_offset + 4u;
  code_.insert(code_.end(), bytes.begin(), bytes.begin() + in.displacement_offset);
  KEVT_TRY(distance_to(original_of(*in.rip_operand), in.length - behind));
  code_.insert(code_.end(), bytes.begin() + behind, bytes.end());
  return {};
}

Result<void> Mover::move(std::span<const std::uint8_t> bytes, const Instruction& in, std::uint64_t offset) {
  offset_ = offset;
  if (const auto why = immovable(in)) return refuse(*why);
  switch (in.flow) {
    case Flow::Next:
    case Flow::Return:
    case Flow::IndirectJump:
      return copy(bytes, in);
    case Flow::Jump:
      return jump_to(original_of(*in.branch));
    case Flow::ConditionalJump:
      return move_conditional(bytes, in);
    case Flow::Call:
      push_return_address(original_of(in.length));
      return jump_to(original_of(*in.branch));
    case Flow::IndirectCall:
      return move_indirect_call(bytes, in);
    case Flow::Trap:
    case Flow::Other:
      break;  // immovable
  }
  return {};
}

}  // namespace

Result<Relocated> relocate(std::span<const std::uint8_t> original, RemoteAddr from, RemoteAddr to) {
  Mover mover(from, to);
  Relocated result;
  const auto note = [&](std::uint64_t offset) {
    result.offsets.push_back({static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(mover.code().size())});
  };
  for (std::uint64_t offset = 0; offset < original.size();) {
    const std::span<const std::uint8_t> rest = original.subspan(offset);
    const std::optional<Instruction> in = decode(rest);
    if (!in) return std::unexpected(Error(fmt::format("the bytes at +{:#x} are no complete instruction", offset)));
    note(offset);
    if (auto moved = mover.move(rest.first(in->length), *in, offset); !moved) {
      return std::unexpected(std::move(moved.error()));
    }
    offset += in->length;
  }
  note(original.size());
  result.code = std::move(mover.code());
  return result;
}

}  // namespace kevt::x86
