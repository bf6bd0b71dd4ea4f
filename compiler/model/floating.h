// Floating point numbers as fetch-args record them: the bits of an IEEE 754 number of 4 or 8 bytes, in the low bytes of
// a word.
//
// Code at the hit has no floating point registers to compare with. order_of_float() makes a signed integer of such a
// number; the integers are ordered as the numbers are, and the least integer stands for NaN:
//
//   nan  INT64_MIN     -inf  -0x7ff0000000000000     -0 and 0  0     2.5  0x4004000000000000     inf 0x7ff0000000000000
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kevt::model {

inline double float_value(std::uint64_t bits, std::uint32_t bytes) {
  if (bytes == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

inline std::uint64_t bits_of_float(double value, std::uint32_t bytes) {
  if (bytes == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

inline constexpr std::uint64_t kFloatSign = 1ull << 63;

inline constexpr std::uint64_t kOrderOfNan = kFloatSign;

// The bits of infinity: without the sign bit, no number has greater ones. Those of 4 bytes lie in the high half.
constexpr std::uint64_t float_infinity(std::uint32_t bytes) {
  return bytes == 4 ? 0x7f80'0000ull << 32 : 0x7ff0ull << 48;
}

// The result is a signed number in two's complement.
constexpr std::uint64_t order_of_float(std::uint64_t bits, std::uint32_t bytes) {
  const std::uint64_t high = bytes == 4 ? bits << 32 : bits;
  const std::uint64_t size = high & ~kFloatSign;
  if (size > float_infinity(bytes)) return kOrderOfNan;
  return high == size ? size : 0 - size;
}

// The shortest text that reads back as the same number of its size: "2.5", "1e+20", "inf", "nan".
inline void append_float(std::uint64_t bits, std::uint32_t bytes, std::string& out) {
  char text[32];
  const double value = float_value(bits, bytes);
  const auto end = bytes == 4 ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                              : std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, static_cast<std::size_t>(end - text));
}

// `text` must be a number as a whole: "2.5", "-1e-3", "3", "inf".
inline std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace kevt::model
