// Evaluates filters on finished records, as the `if` of triggers and events shared by several instances need it. The
// extractor's own compiled filter (lower/condition.h) means the same.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::engine {

struct RecordContext {
  std::span<const std::uint8_t> record;  // may be hostile
  std::uint32_t cpu = 0;
  std::string_view comm;
};

// Whether the record passes. `filter` must be bound to `layout`.
bool holds(const model::FilterExpr& filter, const model::RecordLayout& layout, const RecordContext& context);

}  // namespace kevt::engine
