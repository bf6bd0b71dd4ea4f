// Lowering: checked definition, layout and bound filters → fetch IR.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/model/compiled_event.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::lower {

// An eprobe's `if`: a filter that is bound to the fields of the record that the eprobe reads.
struct AttachedFilter {
  model::RecordLayout layout;
  model::FilterExpr condition;
};

// Whether code can be made for the definition. False for synthetic events, and for arguments with names or fields that
// sema has left unresolved.
bool lowerable(const model::Definition& definition);
// Whether the `if` reads text that lies behind the record's fields.
bool reads_located_text(const AttachedFilter& attached);

// `filters[i]` is the bound filter of sink i, or nullopt; one sink per element. `attached` (nullptr: none) is a further
// condition of every sink and action; it is evaluated first.
// With `switches` there must be one sink; with `histograms` one sink without a filter, and no switches. Equal values
// are made once. `definition` and `layout` must come from sema and layout, and lowerable(definition) must hold. The
// result passes ir::verify.
ir::Program lower_event(const model::Definition& definition, const model::RecordLayout& layout,
                        const std::vector<std::optional<model::FilterExpr>>& filters,
                        const model::InlineTriggers& switches = {}, const AttachedFilter* attached = nullptr,
                        const std::vector<model::HitHistogram>& histograms = {});

// Adds what a program needs whose records come with their stack, in a process (ir::Program::takes_stack).
void add_stack_number(ir::Program& program);

}  // namespace kevt::lower
