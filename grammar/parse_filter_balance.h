// Whether the quotes and parentheses of a filter match, and whether there is any predicate.
#pragma once

#include <cstdint>
#include <string_view>

namespace kevt::grammar {

enum class Balance : std::uint8_t { Even, MissingQuote, TooManyOpen, TooManyClose, NoPredicate };

struct BalanceResult {
  Balance verdict = Balance::Even;
  std::uint32_t column = 0;  // of the quote or parenthesis that has no partner
};

BalanceResult check_balance(std::string_view text);

}  // namespace kevt::grammar
