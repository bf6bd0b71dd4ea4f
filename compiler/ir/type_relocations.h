// Numbers of a program that hang on where the traced kernel's types put things: offsets of members, places of bits,
// registers and numbers of arguments. Code may be made with those left open, and be given them where it runs.
//
//   v1 = load4 v0+20; v2 = bits 3:1 v1          one layout shape, numbers (di) 20 3 1
//   v1 = load4 v0+0;  v2 = bits 0:2 v1          of the same shape
//   v1 = load8 v0+20                            another one: how much is read is a matter of the code
//
// Unlike shape.h's constants they may be anything, 0 too, and what is taken to be one does not hang on its value: the
// positions are the same for all programs of one layout shape.
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

// `context`: which registers hold arguments. In the order of the program.
std::vector<TypeRelocation> type_relocations(const Program& program, model::BpfContext context);
// Equal for programs that differ in these numbers alone. No text form of a program is equal to it.
std::string layout_shape(const Program& program, model::BpfContext context);
// What a Register number may be.
std::vector<std::uint32_t> argument_registers(model::BpfContext context);

}  // namespace kevt::ir
