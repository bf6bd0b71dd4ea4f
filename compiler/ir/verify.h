// The rules a Program keeps; every pass and every reader of IR text ends with it.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/program.h"

namespace kevt::ir {

// nullopt: well formed. Otherwise the first broken rule: "v3: operand v5 is not defined before it".
std::optional<std::string> verify(const Program& program);

}  // namespace kevt::ir
