// CodeWriter: the few x86-64 instructions detours are made of. Each method emits one and its
// comment is the disassembly. Words are indices into kevt_registers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/addresses.h"

namespace kevt::inproc {

// Words of kevt_registers (common/abi/registers.h), in order.
enum Word : std::uint8_t {
  kR15,
  kR14,
  kR13,
  kR12,
  kBp,
  kBx,
  kR11,
  kR10,
  kR9,
  kR8,
  kAx,
  kCx,
  kDx,
  kSi,
  kDi,
  kOrigAx,
  kIp,
  kCs,
  kFlags,
  kSp,
  kSs,
  kWords
};
constexpr std::uint32_t bit(Word word) { return 1u << word; }

class CodeWriter {
 public:
  explicit CodeWriter(RemoteAddr at) : at_(at) {}

  RemoteAddr here() const { return at_ + code_.size(); }
  std::size_t size() const { return code_.size(); }
  std::vector<std::uint8_t> take() { return std::move(code_); }
  void bytes(std::span<const std::uint8_t> raw) { code_.insert(code_.end(), raw.begin(), raw.end()); }
  void bytes(std::initializer_list<std::uint8_t> raw) { code_.insert(code_.end(), raw.begin(), raw.end()); }

  void lea_sp(std::int32_t distance) {  // lea distance(%rsp), %rsp
    bytes({0x48, 0x8d, 0xa4, 0x24});
    word32(distance);
  }
  void store(Word reg, std::int32_t offset) { memory(0x89, reg, offset); }  // mov %reg, offset(%rsp)
  void load(Word reg, std::int32_t offset) { memory(0x8b, reg, offset); }   // mov offset(%rsp), %reg
  void lea(Word reg, std::int32_t offset) { memory(0x8d, reg, offset); }    // lea offset(%rsp), %reg
  void store_imm(std::int32_t value, std::int32_t offset) {                 // movq $value, offset(%rsp)
    bytes({0x48, 0xc7, 0x84, 0x24});
    word32(offset);
    word32(value);
  }
  void set(Word reg, std::uint64_t value) {  // movabs $value, %reg
    const std::uint8_t number = number_of(reg);
    bytes({static_cast<std::uint8_t>(0x48 | (number >> 3)), static_cast<std::uint8_t>(0xb8 | (number & 7))});
    word64(value);
  }
  void call(RemoteAddr target) { branch({0xe8}, target); }  // call target
  void jump(RemoteAddr target) { branch({0xe9}, target); }  // jmp target
  void call_ax() { bytes({0xff, 0xd0}); }                   // call *%rax
  // Forward branches: emitted with no target, set by land().
  std::size_t call_forward() { return forward({0xe8}); }                    // call …
  std::size_t jump_forward() { return forward({0xe9}); }                    // jmp …
  std::size_t jump_if_zero_forward() { return forward({0x0f, 0x84}); }      // je …
  std::size_t jump_if_not_zero_forward() { return forward({0x0f, 0x85}); }  // jne …
  std::size_t jump_if_above_forward() { return forward({0x0f, 0x87}); }     // ja …
  std::size_t jump_if_negative_forward() { return forward({0x0f, 0x88}); }  // js …
  void land(std::size_t branch_end) {
    const auto distance = static_cast<std::int32_t>(code_.size() - branch_end);
    std::memcpy(code_.data() + branch_end - 4, &distance, 4);
  }

  // Any other instruction, as its bytes and the 32 bits behind them.
  void instruction(std::initializer_list<std::uint8_t> opcode, std::uint64_t tail) {
    bytes(opcode);
    word32(static_cast<std::int32_t>(tail));
  }
  void word64(std::uint64_t value) { raw(&value, 8); }
  // An instruction whose operand is memory at `target`(%rip); `immediate`, where there is one, is a byte behind it.
  void relative(std::initializer_list<std::uint8_t> opcode, RemoteAddr target,
                std::initializer_list<std::uint8_t> immediate = {}) {
    bytes(opcode);
    word32(static_cast<std::int32_t>(target - (here() + (4 + immediate.size()))));
    bytes(immediate);
  }
  void jump_back_if_not_zero(std::size_t to) {  // jne to, an offset in the code
    bytes({0x0f, 0x85});
    word32(static_cast<std::int32_t>(to) - static_cast<std::int32_t>(code_.size() + 4));
  }

  // lahf; seto %al; mov %rax, offset(%rsp): the six arithmetic flags, rax being saved already
  void save_flags(std::int32_t offset) {
    bytes({0x9f, 0x0f, 0x90, 0xc0});
    store(kAx, offset);
  }
  // mov offset(%rsp), %rax; add $0x7f, %al; sahf: the add restores OF
  void restore_flags(std::int32_t offset) {
    load(kAx, offset);
    bytes({0x04, 0x7f, 0x9e});
  }

 private:
  static std::uint8_t number_of(Word reg) {
    static constexpr std::array<std::uint8_t, 15> numbers = {15, 14, 13, 12, 5, 3, 11, 10, 9, 8, 0, 1, 2, 6, 7};
    return numbers[reg];
  }
  void memory(std::uint8_t opcode, Word reg, std::int32_t offset) {
    const std::uint8_t number = number_of(reg);
    bytes({static_cast<std::uint8_t>(0x48 | (number >> 3) << 2), opcode,
           static_cast<std::uint8_t>(0x84 | (number & 7) << 3), 0x24});
    word32(offset);
  }
  void branch(std::initializer_list<std::uint8_t> opcode, RemoteAddr target) {
    bytes(opcode);
    word32(static_cast<std::int32_t>(target - (here() + 4)));
  }
  std::size_t forward(std::initializer_list<std::uint8_t> opcode) {
    bytes(opcode);
    word32(0);
    return code_.size();
  }
  void word32(std::int32_t value) { raw(&value, 4); }
  void raw(const void* value, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(value);
    code_.insert(code_.end(), first, first + size);
  }

  RemoteAddr at_;
  std::vector<std::uint8_t> code_;
};

}  // namespace kevt::inproc
