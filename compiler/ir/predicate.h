// Whether what was read of a record is what a bound predicate of a filter asks for: for all who filter records, whether
// they come from a ring or a file. Mirrors filter_pred_* of kernel/trace/trace_events_filter.c (6.1).
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/model/filter.h"

namespace kevt::ir {

// A predicate over a number (not is_string): `value` are its low `bytes`, however it is extended. A size that is none
// of 1, 2, 4, 8 is 0 here and never holds.
bool accepts_number(const model::FilterPredicate& predicate, std::uint64_t value);
// One over a text (is_string); what could not be read is "".
bool accepts_text(const model::FilterPredicate& predicate, std::string_view text);

}  // namespace kevt::ir
