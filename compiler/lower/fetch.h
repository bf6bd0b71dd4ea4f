// Fetch expressions: `+8(+0(%di))` → where the value to record is.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/lower/value_table.h"

namespace kevt::lower {

// The datum is `value` itself, or lies in memory at `value` + `*offset`. A text base ($comm, \"…")
// gives a Text value and no offset. `space`: whose memory may be read there.
struct Fetched {
  ir::ValueId value = 0;
  std::optional<std::int64_t> offset;
  model::AddressSpace space = model::AddressSpace::Default;
};

// `definition` tells which file a `@+OFF` means, and where an argument is. Precondition: lowerable_base(expr.base).
Fetched lower_fetch(const model::FetchExpr& expr, const model::Definition& definition, ValueTable& values);

// Whether code can be made for the base. False: a name or field that sema has left unresolved.
bool lowerable_base(const model::FetchBase& base);

// Whether the base is a text inside the record that an eprobe reads.
bool is_text_field(const model::FetchBase& base);

}  // namespace kevt::lower
