// Bound filters → conditions over the values of the record's fields.
#pragma once

#include <vector>

#include "compiler/lower/field.h"
#include "compiler/model/filter.h"

namespace kevt::lower {

// `fields[i]` belongs to RecordLayout::fields[i].
ir::Condition lower_condition(const model::FilterExpr& filter, const std::vector<FieldValue>& fields,
                              ValueTable& values);

}  // namespace kevt::lower
