// The problem: before it reads a filter the kernel counts its quotes and parentheses, wherever they
// stand, and reports those mistakes before any other.
//
// The idea: one pass with a stack of the columns of open parentheses; a quote hides everything up to its
// like. The one to blame is the last quote, the first ')' too many, or the innermost '(' left open.
//
//   ss16( == 12      column 4, TooManyOpen
//   who == "\""      column 10, MissingQuote (there is no escape inside quotes)
//
// It says nothing about what stands between. Mirrors calc_stack() of kernel/trace/trace_events_filter.c, 6.1.
#include "grammar/parse_filter_balance.h"

#include <vector>

#include "grammar/parse_definition_text.h"

namespace kevt::grammar {
namespace {

bool joins(std::string_view text, std::uint32_t at) {
  return (text[at] == '&' || text[at] == '|') && at + 1 < text.size() && text[at + 1] == text[at];
}

}  // namespace

BalanceResult check_balance(std::string_view text) {
  std::vector<std::uint32_t> open;
  char quote = 0;
  std::uint32_t quote_column = 0;
  bool has_predicate = false;
  for (std::uint32_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
      quote_column = at;
      has_predicate = true;
    } else if (c == '(') {
      open.push_back(at);
    } else if (c == ')') {
      if (open.empty()) return {Balance::TooManyClose, at};
      open.pop_back();
    } else if (joins(text, at)) {
      continue;  // the second of the pair, alone or doubled again, is looked at like any other byte
    } else if (!is_blank(c)) {
      has_predicate = true;
    }
  }
  if (quote != 0) return {Balance::MissingQuote, quote_column};
  if (!open.empty()) return {Balance::TooManyOpen, open.back()};
  if (!has_predicate) return {Balance::NoPredicate, 0};
  return {};
}

}  // namespace kevt::grammar
