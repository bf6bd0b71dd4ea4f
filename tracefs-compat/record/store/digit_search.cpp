#include "tracefs-compat/record/store/digit_search.h"

#include <algorithm>
#include <charconv>

namespace kevt::record {
namespace {

constexpr std::uint32_t kMicrosOfSecond = 1'000'000;
constexpr std::uint64_t kNsOfMicro = 1000, kNsOfSecond = kNsOfMicro * kMicrosOfSecond;

// Which microseconds of a second have the digits, printed by six.
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

}  // namespace

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

TimeDigits::TimeDigits(std::string_view digits) : digits_(digits) {
  const std::vector<bool> has = micros_with(digits);
  for (std::uint32_t micro = 0; micro < kMicrosOfSecond; ++micro)
    if (has[micro]) micros_.push_back(micro);
}

bool TimeDigits::holds(std::uint64_t micros) const {
  return std::to_string(micros / kMicrosOfSecond).contains(digits_) ||
         std::ranges::binary_search(micros_, static_cast<std::uint32_t>(micros % kMicrosOfSecond));
}

// Rows ascend in time, so a time that has the digits is a range of them. A step goes on to the next such time at or
// behind the row, and then to the first row at or behind that time: one of them moves each time.
RowBits TimeDigits::rows_in(const StoreChunk& chunk) const {
  RowBits found = no_rows(chunk.rows());
  const auto micros_of = [&](std::uint32_t row) { return (chunk.time_ns(row) + kNsOfMicro / 2) / kNsOfMicro; };
  const auto first_at = [&](std::uint64_t micros) { return chunk.lower_bound(micros * kNsOfMicro - kNsOfMicro / 2); };
  // As the line rounds them, the last times there are become the first ones.
  if (chunk.last_ns() > ~std::uint64_t{0} - 2 * kNsOfSecond) {
    for (std::uint32_t row = 0; row < chunk.rows(); ++row)
      if (holds(micros_of(row))) set_bit(found, row);
    return found;
  }
  for (std::uint32_t row = 0; row < chunk.rows();) {
    const std::uint64_t second = micros_of(row) / kMicrosOfSecond, begin = second * kMicrosOfSecond;
    const std::uint32_t end = first_at(begin + kMicrosOfSecond);
    if (std::to_string(second).contains(digits_)) {
      for (; row < end; ++row) set_bit(found, row);
      continue;
    }
    for (auto micro = micros_.begin(); row < end;) {
      const std::uint64_t here = micros_of(row);
      micro = std::lower_bound(micro, micros_.end(), here - begin);
      if (micro == micros_.end()) {
        row = end;
      } else if (begin + *micro == here) {
        set_bit(found, row++);
      } else {
        row = first_at(begin + *micro);
      }
    }
  }
  return found;
}

}  // namespace kevt::record
