// decode: one x86-64 instruction as the few facts that moving and patching code need.
//
// Addresses do not appear here: distances count from the instruction's first byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace kevt::x86 {

enum class Flow : std::uint8_t {
  Next,  // goes on behind itself
  Jump,
  ConditionalJump,  // jcc, loop*, j*cxz
  Call,
  Return,  // near ret
  IndirectJump,
  IndirectCall,
  Trap,   // int3, int1, ud*: reports its own address
  Other,  // far branches, iret, sysret, xbegin
};

// The loads and computations that jump tables are read with.
enum class Shape : std::uint8_t {
  Plain,
  Nop,
  EndBranch,
  LoadAddress,      // lea reg, [memory]
  LoadSigned32,     // movslq memory, reg
  Load64,           // mov memory, reg (64 bits)
  CopyRegister64,   // mov reg, reg (64 bits)
  AddRegister64,    // add reg, reg (64 bits)
  LoadImmediate32,  // mov $imm32, reg (zero or sign extended)
};

// Registers by their number in instruction encodings: ax 0, cx 1, dx 2, bx 3, sp 4, bp 5, si 6, di 7,
// then 8 to 15.
constexpr std::uint8_t kNoRegister = 0xff;
constexpr std::uint8_t kStackPointer = 4;

struct Instruction {
  std::uint8_t length = 0;
  Flow flow = Flow::Next;
  Shape shape = Shape::Plain;
  std::uint8_t operand_bits = 0;  // 16: a branch that cuts its target to 16 bits

  std::optional<std::int64_t> branch;       // direct branches: target − start
  std::optional<std::int64_t> rip_operand;  // RIP-relative operand: its address − start

  // Memory operand (`base` kNoRegister where absent or RIP) and the registers of Shapes.
  bool has_memory = false;
  std::uint8_t destination = kNoRegister;
  std::uint8_t source = kNoRegister;  // register source, or the register of an indirect branch
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::uint8_t scale = 0;
  std::int64_t displacement = 0;
  std::uint64_t immediate = 0;

  // Where the encoding's parts lie, in bytes from the start; 0: absent.
  std::uint8_t opcode_offset = 0;  // behind all prefixes (REX included)
  std::uint8_t modrm_offset = 0;
  std::uint8_t displacement_offset = 0;
  std::uint8_t displacement_bits = 0;
  bool address_size_prefix = false;
};

// Decodes the instruction at the front of `code`; nullopt: no complete valid instruction.
std::optional<Instruction> decode(std::span<const std::uint8_t> code);

// Registers that running `code` may change: bit i is word i of kevt_registers
// (common/abi/registers.h), flags and sp included. Calls to places outside `code` and indirect calls
// count as changing what the SysV ABI lets a function change. Bytes that are no instructions make
// everything count as changed.
std::uint32_t clobbered_registers(std::span<const std::uint8_t> code);

}  // namespace kevt::x86
