// A filter's text, read up to its first mistake.
//
// The kernel looks each field up before it reads on, so an unknown field early in the text hides a
// syntax mistake later in it. So sema::compile_filter, which knows the fields, needs the predicates before
// the mistake. To check only the syntax, use parse_filter of parse.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/filter.h"

namespace kevt::grammar {

// One page less its NUL: longer writes are refused without a log entry.
inline constexpr std::size_t kMaxFilterBytes = 4095;

struct FilterReading {
  std::optional<model::FilterExpr> tree;             // nullopt if there is a mistake
  std::optional<diag::Diagnostic> mistake;           // the first one
  std::vector<model::FilterPredicate> before;        // whole predicates in front of the mistake, in text order
  std::optional<model::FilterPredicate> unfinished;  // the predicate with the mistake: field, and modifier if any
};

// Fractions: `2.5` and `1e-3` are numbers, too, which they are not in a kernel's filters.
enum class FilterNumbers : std::uint8_t { Integers, Fractions };
FilterReading read_filter(std::string_view text, dialect::Dialect dialect = dialect::Dialect::superset(),
                          FilterNumbers numbers = FilterNumbers::Integers);

// The text as the kernel keeps and shows it: up to the first NUL, without blanks at the end.
std::string_view filter_command(std::string_view text);

}  // namespace kevt::grammar
