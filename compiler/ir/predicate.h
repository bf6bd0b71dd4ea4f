// Whether a value of a record meets a filter's bound predicate: for all code that filters records, from a ring or a
// file. Mirrors filter_pred_* of kernel/trace/trace_events_filter.c (6.1).
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/model/filter.h"

namespace kevt::ir {

// A predicate over a number (not is_string): the low `predicate.bytes` bytes of `value` count. A predicate of 0 bytes
// (the field's size is none of 1, 2, 4, 8) never holds.
bool accepts_number(const model::FilterPredicate& predicate, std::uint64_t value);
// A predicate over a text (is_string); a text that could not be read is "".
bool accepts_text(const model::FilterPredicate& predicate, std::string_view text);

}  // namespace kevt::ir
