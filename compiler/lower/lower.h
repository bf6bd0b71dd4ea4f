// Lowering: checked definition, layout and bound filters → fetch IR.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::lower {

// `filters[i]` is the bound filter of sink i, or nullopt; one sink per element.
// Equal values are made once. `definition` and `layout` must come from sema and layout.
ir::Program lower_event(const model::Definition& definition, const model::RecordLayout& layout,
                        const std::vector<std::optional<model::FilterExpr>>& filters);

}  // namespace kevt::lower
