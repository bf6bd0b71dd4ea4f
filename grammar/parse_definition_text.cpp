// Words, numbers and names exactly as the kernel reads them.
//
// Problem: what is a number decides whether `p 0x10` is an address or a symbol, and which errno a
// write answers; C++'s own conversions differ (they skip blanks, stop early, know no base from "0X").
// Idea: one small digit loop, and the kernel's three entrances over it.
//
//   parse_unsigned("0x1F", kAutoBase) -> 31     parse_unsigned("08", kAutoBase) -> EINVAL
//   parse_signed("-0x10", kAutoBase)  -> -16    parse_unsigned("18446744073709551616", 10) -> ERANGE
//
// Not here: anything about definitions. Mirrors lib/kstrtox.c, lib/ctype.c, lib/argv_split.c and
// is_good_name() of kernel/trace/trace_probe.h (6.1).
#include "grammar/parse_definition_text.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace kevt::grammar {
namespace {

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

constexpr unsigned kNoDigit = 99;

unsigned digit_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return kNoDigit;
}

// Chooses the base and steps over "0x".
unsigned resolve_base(std::string_view& text, unsigned base) {
  const bool prefixed = text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (base == kAutoBase) {
    const bool hex = prefixed && text.size() >= 3 && digit_value(text[2]) < 16;
    base = hex ? 16 : (!text.empty() && text[0] == '0' ? 8 : 10);
  }
  if (base == 16 && prefixed) text.remove_prefix(2);
  return base;
}

struct Digits {
  std::uint64_t value = 0;
  std::size_t count = 0;
  bool overflow = false;
};

Digits read_digits(std::string_view text, unsigned base) {
  Digits digits;
  while (digits.count < text.size()) {
    const unsigned digit = digit_value(text[digits.count]);
    if (digit >= base) break;
    if (digits.value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) digits.overflow = true;
    digits.value = digits.value * base + digit;
    ++digits.count;
  }
  return digits;
}

Number parse_magnitude(std::string_view text, unsigned base) {
  base = resolve_base(text, base);
  const Digits digits = read_digits(text, base);
  if (digits.overflow) return {.error = ERANGE};
  if (digits.count == 0 || digits.count != text.size()) return {.error = EINVAL};
  return {.value = digits.value};
}

}  // namespace

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || byte_of(c) == 0xa0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  const unsigned char b = byte_of(c);
  return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= 0xc0 && b != 0xd7 && b != 0xf7);
}

bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

Number parse_unsigned(std::string_view text, unsigned base) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_magnitude(text, base);
}

Number parse_signed(std::string_view text, unsigned base) {
  constexpr auto kMaxPositive = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!text.starts_with('-')) {
    const Number number = parse_unsigned(text, base);
    return number.error == 0 && number.value > kMaxPositive ? Number{.error = ERANGE} : number;
  }
  const Number number = parse_magnitude(text.substr(1), base);
  if (number.error != 0) return number;
  if (number.value > kMaxPositive + 1) return {.error = ERANGE};
  return {.value = ~number.value + 1};
}

LooseNumber parse_leading(std::string_view text) {
  std::string_view rest = text;
  const unsigned base = resolve_base(rest, kAutoBase);
  const Digits digits = read_digits(rest, base);
  return {.value = digits.value, .used = text.size() - rest.size() + digits.count};
}

bool is_good_name(std::string_view name) {
  if (name.empty() || (!is_letter(name[0]) && name[0] != '_')) return false;
  return std::ranges::all_of(name, is_name_part);
}

bool is_good_group(std::string_view name) {
  if (name.empty() || is_digit(name[0])) return false;
  return std::ranges::all_of(name, [](char c) { return is_name_part(c) || c == '-'; });
}

Words::Words(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const std::size_t first = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    if (at == first) break;
    if (!command_.empty()) command_ += ' ';
    begins_.push_back(static_cast<std::uint32_t>(command_.size()));
    command_ += line.substr(first, at - first);
  }
}

std::string_view Words::operator[](std::size_t index) const {
  const std::size_t first = begins_[index];
  const std::size_t end = index + 1 < begins_.size() ? begins_[index + 1] - 1 : command_.size();
  return std::string_view(command_).substr(first, end - first);
}

std::uint32_t Words::begin(std::size_t index) const {
  return index < begins_.size() ? begins_[index] : static_cast<std::uint32_t>(command_.size() + 1);
}

std::string Words::tail(std::size_t first) const {
  return first < begins_.size() ? command_.substr(begins_[first]) : std::string();
}

}  // namespace kevt::grammar
