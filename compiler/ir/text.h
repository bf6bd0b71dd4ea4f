// Text form of fetch IR: printed by `kevtrace explain`, read back by goldens. parse(print(p)) == p.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"
#include "compiler/ir/program.h"

namespace kevt::ir {

std::string print(const Program& program);
// Error: what is wrong and on which line.
Result<Program> parse(std::string_view text);

}  // namespace kevt::ir
