// The shape of a program: everything but its constants. Programs of one shape become the same code but for numbers in
// it, so that one of them has to be compiled and the others are its copies with other numbers.
//
//   v1 = load4 v0+8          v1 = load4 v0+24          one shape
//   v1 = load4 v0+0          another: adding nothing takes no code
//   v1 = load4 v0-8          another: so that the sign of a number is known
//
// Offsets of loads, strings and arrays, and immediates that are stored as they are, are exchangeable, as far as they
// and their sum with any offset that code generation adds fit an instruction; what a filter compares with is not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace kevt::ir {

// Exchangeable constants lie below it, and above its negative.
inline constexpr std::int64_t kConstantLimit = std::int64_t{1} << 30;

struct Constant {
  std::uint32_t position = 0;  // value_position() or store_position() of where it stands
  std::int64_t word = 0;
};

// Of Value::imm of a value, or Store::imm of a store.
inline std::uint32_t value_position(ValueId value) { return value; }
inline std::uint32_t store_position(const Program& program, std::size_t store) {
  return static_cast<std::uint32_t>(program.values.size() + store);
}

// By position, ascending. Programs of one shape have the same positions.
std::vector<Constant> exchangeable_constants(const Program& program);
// Equal for programs of one shape, and only for those.
std::string shape_of(const Program& program);

}  // namespace kevt::ir
