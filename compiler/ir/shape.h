// The shape of a program: everything but its constants. Programs of one shape become the same code with other numbers
// in it. So only one of them has to be compiled; the others are copies of its code with their own numbers.
//
//   v1 = load4 v0+8          v1 = load4 v0+24          one shape
//   v1 = load4 v0+0          another: adding nothing takes no code
//   v1 = load4 v0-8          another: so that the sign of a number is known
//
// Exchangeable are offsets of loads, strings and arrays, and immediates that are only stored, if they fit an
// instruction, also with any offset that code generation adds. Constants that a filter compares with are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace kevt::ir {

// Exchangeable constants are below this limit, and above its negative.
inline constexpr std::int64_t kConstantLimit = std::int64_t{1} << 30;

struct Constant {
  std::uint32_t position = 0;  // value_position() or store_position() of the value or store that has it
  std::int64_t word = 0;
};

// The position of a value's Value::imm, or of a store's Store::imm.
inline std::uint32_t value_position(ValueId value) { return value; }
inline std::uint32_t store_position(const Program& program, std::size_t store) {
  return static_cast<std::uint32_t>(program.values.size() + store);
}

// By position, ascending. Programs of one shape have the same positions.
std::vector<Constant> exchangeable_constants(const Program& program);
// Equal for programs of one shape, and only for those.
std::string shape_of(const Program& program);

}  // namespace kevt::ir
