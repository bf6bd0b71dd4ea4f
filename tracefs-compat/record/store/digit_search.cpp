#include "tracefs-compat/record/store/digit_search.h"

#include <charconv>
#include <string>

namespace kevt::record {

std::optional<DigitTest> DigitTest::of(const LineSearch::Condition& condition) {
  constexpr std::size_t kMostDigits = 18;  // ten times that fits
  const std::string& text = condition.text;
  const bool is_number = text.size() <= kMostDigits && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  DigitTest test;
  test.how_ = condition.how;
  std::from_chars(text.data(), text.data() + text.size(), test.number_);
  for (std::size_t i = 0; i < text.size(); ++i) test.power_ *= 10;
  return test;
}

bool is_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

std::vector<bool> micros_with(std::string_view digits) {
  std::vector<bool> has(kMicrosOfSecond);
  std::uint32_t wanted = 0, power = 1;
  for (const char c : digits) {
    if (power == kMicrosOfSecond) return has;  // more than six
    wanted = wanted * 10 + static_cast<std::uint32_t>(c - '0');
    power *= 10;
  }
  // Wherever they stand: any digits before them, and any behind, which are less than `unit`.
  for (std::uint32_t unit = 1; unit * power <= kMicrosOfSecond; unit *= 10)
    for (std::uint32_t before = 0; before < kMicrosOfSecond; before += unit * power)
      for (std::uint32_t behind = 0; behind < unit; ++behind) has[before + wanted * unit + behind] = true;
  return has;
}

}  // namespace kevt::record
