// The problem: "08", "0x", "1e3" and "-0" must be taken or refused exactly as the kernel does.
//
// The idea: the base comes from the prefix alone ("0x" only when a hex digit follows, else a leading 0 is
// octal), then every remaining byte must be a digit of that base.
//
//   kernel_unsigned("0x10") == 16    kernel_unsigned("08") == nullopt    kernel_signed("-1") == -1
//
// It does not skip blanks. Mirrors lib/kstrtox.c of 6.1 (without the final newline that one allows: texts
// are trimmed before).
#include "grammar/kernel_number.h"

#include <charconv>

namespace kevt::grammar {
namespace {

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::optional<std::uint64_t> magnitude(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && is_hex_digit(text[2])) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  if (text.starts_with('-')) return std::nullopt;  // from_chars leaves unsigned ones alone today; say so
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> kernel_unsigned(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return magnitude(text);
}

std::optional<std::int64_t> kernel_signed(std::string_view text) {
  constexpr std::uint64_t kMinimumMagnitude = std::uint64_t{1} << 63;
  if (text.starts_with('-')) {
    const auto value = magnitude(text.substr(1));
    if (!value || *value > kMinimumMagnitude) return std::nullopt;
    return static_cast<std::int64_t>(std::uint64_t{0} - *value);
  }
  const auto value = kernel_unsigned(text);
  if (!value || *value >= kMinimumMagnitude) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace kevt::grammar
