// A function as a list of instructions, and what its indirect jumps can reach.
//
// Decoding in a line from the start is exact for compiled code: compilers put no data between the
// instructions of a function. An indirect jump is *resolved* when its targets are among those that
// jump_targets.cpp collects for the whole image anyway:
//
//   jmp *table(,%rax,8)   jmp *0x18(%rax)   mov 0x18(%rax),%rcx; jmp *%rcx     8-byte pointers in data
//   lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax  4-byte table of a lea
//   jmp *%rdi with %rdi as it came                                             tail call of an argument
//
// The producer of the register is sought backwards in the line, not along all paths: compilers emit the
// sequence in one piece. Not done: computed jumps into unrolled code (they stay unresolved).
#include "runtime-user/runtime/inproc/x86/function_code.h"

#include <algorithm>
#include <array>

namespace kevt::x86 {
namespace {

using target::ElfImage;
using target::FunctionRange;

constexpr std::size_t kLookBack = 64;  // instructions

// Encoding number → bit of clobbered_registers().
bool writes(std::uint32_t mask, std::uint8_t reg) {
  constexpr std::array<std::uint8_t, 16> kWord = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};
  return reg < kWord.size() && (mask >> kWord[reg] & 1);
}

}  // namespace

FunctionCode FunctionCode::read(const ElfImage& image, const FunctionRange& range) {
  FunctionCode code;
  code.image_ = &image;
  code.range_ = range;
  const std::span<const std::uint8_t> bytes = image.bytes_at(range.start, range.size);
  code.instructions_.reserve(bytes.size() / 4);
  for (std::uint64_t at = 0; at < range.size;) {
    const std::optional<Instruction> in = at < bytes.size() ? decode(bytes.subspan(at)) : std::nullopt;
    if (!in) {
      code.undecodable_ = range.start + at;
      break;
    }
    code.instructions_.push_back({range.start + at, *in});
    at += in->length;
  }
  code.summarise();
  return code;
}

void FunctionCode::summarise() {
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const PlacedInstruction& placed = instructions_[i];
    if (placed.in.branch) {
      const ImageAddr target = placed.address + static_cast<std::uint64_t>(*placed.in.branch);
      branches_.push_back({target, placed.address, placed.in.flow});
    }
    if (placed.in.flow == Flow::IndirectJump && !unresolved_jump_ && !resolved(i)) unresolved_jump_ = placed.address;
  }
  std::ranges::stable_sort(branches_, {}, &DirectBranch::target);
}

const PlacedInstruction* FunctionCode::covering(ImageAddr address) const {
  const auto after = std::ranges::upper_bound(instructions_, address, {}, &PlacedInstruction::address);
  if (after == instructions_.begin()) return nullptr;
  const PlacedInstruction& found = *(after - 1);
  return address < found.end() ? &found : nullptr;
}

bool FunctionCode::loads_address_of_data(std::uint8_t reg) const {
  return std::ranges::any_of(instructions_, [&](const PlacedInstruction& placed) {
    const Instruction& in = placed.in;
    if (in.shape != Shape::LoadAddress || in.destination != reg || !in.rip_operand) return false;
    return !image_->is_executable(placed.address + static_cast<std::uint64_t>(*in.rip_operand));
  });
}

// `add %base,%offset` before the jump: the offset must come from a table that a lea names.
bool FunctionCode::resolved_sum(std::size_t sum, std::uint8_t target_register) const {
  const std::uint8_t other = instructions_[sum].in.source;
  const std::size_t first = sum > kLookBack ? sum - kLookBack : 0;
  for (std::size_t i = sum; i-- > first;) {
    const Instruction& in = instructions_[i].in;
    if (in.shape != Shape::LoadSigned32 || (in.destination != target_register && in.destination != other)) continue;
    return in.rip_operand || loads_address_of_data(in.base);
  }
  return false;
}

bool FunctionCode::resolved(std::size_t jump) const {
  if (instructions_[jump].in.has_memory) return true;
  std::uint8_t reg = instructions_[jump].in.source;
  const std::size_t first = jump > kLookBack ? jump - kLookBack : 0;
  for (std::size_t i = jump; i-- > first;) {
    const PlacedInstruction& placed = instructions_[i];
    const Instruction& in = placed.in;
    const std::uint32_t mask = clobbered_registers(image_->bytes_at(placed.address, in.length));
    if (!writes(mask, reg)) continue;
    switch (in.shape) {
      case Shape::Load64:
        return true;
      case Shape::LoadAddress:
        return in.rip_operand.has_value();
      case Shape::LoadImmediate32:
        return true;
      case Shape::CopyRegister64:
        reg = in.source;
        continue;
      case Shape::AddRegister64:
        return resolved_sum(i, reg);
      case Shape::Plain:
      case Shape::Nop:
      case Shape::EndBranch:
      case Shape::LoadSigned32:
        return false;
    }
  }
  return first == 0;
}

const FunctionCode& FunctionCodeCache::get(const FunctionRange& range) {
  const auto same = [&](const FunctionCode& code) {
    return code.range().start == range.start && code.range().size == range.size;
  };
  const auto found = std::ranges::find_if(recent_, same);
  if (found != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, found);
    return recent_.front();
  }
  recent_.push_front(FunctionCode::read(*image_, range));
  if (recent_.size() > kKept) recent_.pop_back();
  return recent_.front();
}

}  // namespace kevt::x86
