// What people write in short, as the lines of the kernel's own language that it means (docs/adr/0032). It is replaced
// before it is parsed, so that listings show what a kernel takes, too.
//
//   p:ev app:provider:marker n=$arg1          uprobes at all places of the marker (usdt.h)
//   p:ev app:Shape::scale(int, double)        a name of the source, with blanks between its parentheses
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// nullopt: `line` is what it is. What is wrong with a definition in short is one mistake.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_shorthand(std::string_view line,
                                                                                          const target::TargetEnv& env);

}  // namespace kevt::pipeline
