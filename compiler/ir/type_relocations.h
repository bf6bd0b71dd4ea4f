// Numbers of a program that depend on the traced kernel's types: offsets of members, places of bits, registers and
// numbers of arguments. Code may be made with these numbers left open; they are filled in where the code runs.
//
//   v1 = load4 v0+20; v2 = bits 3:1 v1          one layout shape, numbers (di) 20 3 1
//   v1 = load4 v0+0;  v2 = bits 0:2 v1          of the same shape
//   v1 = load8 v0+20                            another shape: the size of a read is part of the code
//
// Unlike shape.h's constants these numbers may have any value, 0 too, and whether a number is open does not depend on
// its value: the positions are the same for all programs of one layout shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/model/bpf_code.h"

namespace kevt::ir {

enum class TypeRelocationKind : std::uint8_t {
  Offset,         // Value::imm of Load and String, Store::imm of arrays
  Register,       // Value::imm of a register that holds an argument: its byte offset
  EntryArgument,  // index among entry_arguments()
  Shift,          // of Bits
  Mask,           // of Bits: `width` ones
};

struct TypeRelocation {
  std::uint32_t position = 0;  // value_position() or store_position() of shape.h
  TypeRelocationKind kind = TypeRelocationKind::Offset;
  std::int64_t word = 0;
};

// All such numbers, in the order of the program. `context` decides which registers hold arguments.
std::vector<TypeRelocation> type_relocations(const Program& program, model::BpfContext context);
// Equal for programs that differ in these numbers only. It never equals the text form of a program.
std::string layout_shape(const Program& program, model::BpfContext context);
// The values that a Register number may have.
std::vector<std::uint32_t> argument_registers(model::BpfContext context);

}  // namespace kevt::ir
