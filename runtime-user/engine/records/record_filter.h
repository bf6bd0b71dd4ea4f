// Filters over records that are there already: what triggers' `if` and shared probes need. The extractor's own filter
// is compiled (lower/condition.h) and means the same.
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

// `filter` is bound to `layout`.
bool holds(const model::FilterExpr& filter, const model::RecordLayout& layout, const RecordContext& context);

}  // namespace kevt::engine
