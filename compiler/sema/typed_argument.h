// An argument whose operand is known by its type: the argument reads what the operand is.
#pragma once

#include <cstddef>

#include "compiler/sema/definition_check.h"
#include "compiler/sema/resolve_fields.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

// Argument `index` reads the operand, with the type that the operand has where none is written. Reports where the
// written type does not fit.
void take_operand(DefinitionCheck& check, target::TypeSource source, std::size_t index, ResolvedOperand operand);

}  // namespace kevt::sema
