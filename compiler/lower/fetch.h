// Fetch expressions: `+8(+0(%di))` → where the datum is.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/lower/value_table.h"

namespace kevt::lower {

// The datum is `value` itself, or lies in memory at `value` + `*offset`. A text base ($comm, \"…")
// gives a Text value and no offset.
struct Fetched {
  ir::ValueId value = 0;
  std::optional<std::int64_t> offset;
};

// `place` says which file a `@+OFF` means. Precondition: lowerable_base(expr.base).
Fetched lower_fetch(const model::FetchExpr& expr, const model::Place& place, ValueTable& values);

// False for what no code is made of: eprobe fields, and names that sema leaves unresolved.
bool lowerable_base(const model::FetchBase& base);

}  // namespace kevt::lower
