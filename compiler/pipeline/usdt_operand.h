// An argument of a marker, as the assembler wrote it: SIZE@OPERAND. A negative SIZE means a signed number, an `f`
// behind SIZE floating point.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::pipeline {

struct UsdtOperand {
  std::string fetch;   // "%di", "-20(%bp)", "\42", "@counter+8"
  unsigned bytes = 8;  // 1, 2, 4 or 8
  bool is_signed = false;
  bool is_float = false;  // of 4 or 8 bytes
  bool is_constant = false;
};

// An error: why no fetch argument can read this operand.
std::expected<UsdtOperand, std::string> usdt_operand(std::string_view text);

// Cuts a note's arguments into operands.
std::vector<std::string_view> split_usdt_arguments(std::string_view arguments);

}  // namespace kevt::pipeline
