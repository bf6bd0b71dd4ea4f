// Bytes as hexadecimal digits, two for each, and back.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kevt {

inline void append_hexadecimal(std::span<const std::uint8_t> bytes, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

inline std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string out;
  append_hexadecimal(bytes, out);
  return out;
}

// Pairs of digits; a pair that is none is 0, a digit at the end alone is left out.
inline std::string from_hexadecimal(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace kevt
