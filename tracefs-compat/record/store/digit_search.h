// What decimal digits in a text ask of numbers and of times, without printing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/print/line_search.h"
#include "tracefs-compat/record/store/row_bits.h"
#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {

// Of decimal digits: the numbers that are printed with these digits, from the beginning, at the end, or anywhere.
class DigitTest {
 public:
  // nullopt: digits do not decide.
  static std::optional<DigitTest> of(const LineSearch::Condition& condition);
  // `size`: of the number, without its sign.
  bool holds(std::uint64_t size, bool is_negative) const {
    switch (how_) {
      case LineSearch::How::Is:
        return !is_negative && size == number_;
      case LineSearch::How::Begins:
        if (is_negative) return false;
        while (size >= power_) size /= 10;
        return size == number_;
      case LineSearch::How::Ends:
        return (size < power_ ? size : size % power_) == number_;  // a division costs more than all the rest
      case LineSearch::How::Has:
        for (; size >= power_; size /= 10)
          if (size % power_ == number_) return true;
        return size == number_;
    }
    return false;
  }

 private:
  LineSearch::How how_ = LineSearch::How::Is;
  std::uint64_t number_ = 0, power_ = 1;  // 10 to the number of digits
};

bool is_digits(std::string_view text);

// The times that are printed with these digits, which stand in their second or in its microseconds.
class TimeDigits {
 public:
  explicit TimeDigits(std::string_view digits);
  // The rows of the chunk that have such a time.
  RowBits rows_in(const StoreChunk& chunk) const;

 private:
  bool holds(std::uint64_t micros) const;

  std::string digits_;
  std::vector<std::uint32_t> micros_;  // of a second, ascending: those that have the digits, printed by six
};

}  // namespace kevt::record
