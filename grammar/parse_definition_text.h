// Words, numbers and names by the kernel's rules, for the definition parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::grammar {

// ---- characters as lib/ctype.c has them: Latin-1, so 0xa0 is a blank and 0xe9 a letter ----------
bool is_blank(char c);
bool is_digit(char c);
bool is_letter(char c);
bool is_name_part(char c);  // letter, digit or _

// ---- numbers as kstrtoul, kstrtol and simple_strtoul read them ---------------------------------
struct Number {
  std::uint64_t value = 0;
  int error = 0;  // 0, EINVAL (not a number) or ERANGE (does not fit)
};
inline constexpr unsigned kAutoBase = 0;  // 0x16, 010, 10
Number parse_unsigned(std::string_view text, unsigned base);
Number parse_signed(std::string_view text, unsigned base);  // `value` is two's complement
// The number at the front of `text`, modulo 2^64; `used` bytes were read, 0: there is none.
struct LooseNumber {
  std::uint64_t value = 0;
  std::size_t used = 0;
};
LooseNumber parse_leading(std::string_view text);

// ---- names -------------------------------------------------------------------------------------
bool is_good_name(std::string_view name);   // a C identifier
bool is_good_group(std::string_view name);  // letters, digits, '_' and '-', not a digit first

// ---- words -------------------------------------------------------------------------------------
// A line cut at blanks. Columns count in `command`, the words joined with single blanks.
class Words {
 public:
  explicit Words(std::string_view line);
  std::size_t size() const { return begins_.size(); }
  std::string_view operator[](std::size_t index) const;
  const std::string& command() const { return command_; }
  // Where a word begins in command(); for an index behind the last word, one blank behind the end.
  std::uint32_t begin(std::size_t index) const;
  // Words [first, size()), joined with single blanks.
  std::string tail(std::size_t first) const;

 private:
  std::string command_;
  std::vector<std::uint32_t> begins_;
};

inline constexpr std::size_t kMaxNameBytes = 63;  // of group and event names

}  // namespace kevt::grammar
