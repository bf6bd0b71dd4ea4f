// The rules that a Program keeps. Every pass, and the parser of IR text, ends with verify().
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/program.h"

namespace kevt::ir {

// nullopt: well formed. Otherwise the first broken rule: "v3: operand v5 is not defined before it".
std::optional<std::string> verify(const Program& program);

}  // namespace kevt::ir
