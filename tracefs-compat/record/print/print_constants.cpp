#include "tracefs-compat/record/print/print_constants.h"

#include <algorithm>
#include <limits>

namespace kevt::record {
namespace {

// As a C type of `bytes` holds it.
std::uint64_t held(std::uint64_t value, std::uint8_t bytes, bool is_signed) {
  if (bytes >= 8) return value;
  const unsigned above = 64 - 8 * bytes;
  value <<= above;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> above) : value >> above;
}

}  // namespace

ConstantNumber converted(std::uint64_t value, std::uint8_t bytes, bool is_signed) {
  const bool is_small = bytes < 4;
  return {held(value, bytes, is_signed), is_small ? std::uint8_t{4} : bytes, is_small || is_signed};
}

ConstantNumber common_type(const ConstantNumber& left, const ConstantNumber& right) {
  const std::uint8_t bytes = std::max(left.bytes, right.bytes);
  const auto keeps_sign = [&](const ConstantNumber& one) { return one.is_signed || one.bytes < bytes; };
  return {0, bytes, keeps_sign(left) && keeps_sign(right)};
}

std::optional<ConstantNumber> computed(BinaryOp op, const ConstantNumber& left, const ConstantNumber& right) {
  const bool is_shift = op == BinaryOp::ShiftLeft || op == BinaryOp::ShiftRight;
  ConstantNumber made = is_shift ? ConstantNumber{0, left.bytes, left.is_signed} : common_type(left, right);
  const std::uint64_t a = held(left.value, made.bytes, made.is_signed),
                      b = held(right.value, made.bytes, made.is_signed);
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  const bool is_less = made.is_signed ? sa < sb : a < b;
  const auto arithmetic = [&](std::uint64_t value) {
    made.value = held(value, made.bytes, made.is_signed);
    return made;
  };
  const auto truth = [](bool is_so) { return ConstantNumber{is_so}; };
  switch (op) {
    case BinaryOp::Add:
      return arithmetic(a + b);
    case BinaryOp::Subtract:
      return arithmetic(a - b);
    case BinaryOp::Multiply:
      return arithmetic(a * b);
    case BinaryOp::Divide:
    case BinaryOp::Remainder:
      if (b == 0 || (made.is_signed && sb == -1 && sa == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
      if (op == BinaryOp::Divide) return arithmetic(made.is_signed ? static_cast<std::uint64_t>(sa / sb) : a / b);
      return arithmetic(made.is_signed ? static_cast<std::uint64_t>(sa % sb) : a % b);
    case BinaryOp::And:
      return arithmetic(a & b);
    case BinaryOp::Or:
      return arithmetic(a | b);
    case BinaryOp::Xor:
      return arithmetic(a ^ b);
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight:
      if (right.value >= 8u * made.bytes) return std::nullopt;
      if (op == BinaryOp::ShiftLeft) return arithmetic(a << right.value);
      return arithmetic(made.is_signed ? static_cast<std::uint64_t>(sa >> right.value) : a >> right.value);
    case BinaryOp::Less:
      return truth(is_less);
    case BinaryOp::LessEqual:
      return truth(is_less || a == b);
    case BinaryOp::Greater:
      return truth(!is_less && a != b);
    case BinaryOp::GreaterEqual:
      return truth(!is_less);
    case BinaryOp::Equal:
      return truth(a == b);
    case BinaryOp::NotEqual:
      return truth(a != b);
    case BinaryOp::LogicalAnd:
      return truth(a && b);
    case BinaryOp::LogicalOr:
      return truth(a || b);
  }
  return std::nullopt;
}

}  // namespace kevt::record
