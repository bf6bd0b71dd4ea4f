// An argument whose operand was resolved with types: what the argument reads, and its type.
#pragma once

#include <cstddef>

#include "compiler/sema/definition_check.h"
#include "compiler/sema/resolve_fields.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

// Makes argument `index` read the operand; if no type is written, with the operand's type. Reports a written type that
// does not fit.
void take_operand(DefinitionCheck& check, target::TypeSource source, std::size_t index, ResolvedOperand operand);

}  // namespace kevt::sema
