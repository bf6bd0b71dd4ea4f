// Constant expressions of a print fmt (`1U << 3`, `(gfp_t)0x400u | …`), in C's arithmetic: int, unsigned int and the
// 64-bit types. What is smaller is an int once it is computed with (C17 6.3.1).
#pragma once

#include <cstdint>
#include <optional>

#include "tracefs-compat/record/print/print_format.h"

namespace kevt::record {

struct ConstantNumber {
  std::uint64_t value = 0;  // two's complement, with its sign in all 64 bits
  std::uint8_t bytes = 4;   // 4 or 8
  bool is_signed = true;
};

// A number as a type of 1, 2, 4 or 8 bytes holds it.
ConstantNumber converted(std::uint64_t value, std::uint8_t bytes, bool is_signed);
// What both become when they are computed with; its value is 0.
ConstantNumber common_type(const ConstantNumber& left, const ConstantNumber& right);
// nullopt: it has no value (a division by 0, a shift by too much).
std::optional<ConstantNumber> computed(BinaryOp op, const ConstantNumber& left, const ConstantNumber& right);

}  // namespace kevt::record
