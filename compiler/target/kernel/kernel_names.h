// Whether a name is a function of the running kernel. No addresses are needed.
#pragma once

#include <string_view>

namespace kevt::target {

// Looks in /proc/kallsyms, which shows names to everybody. False also if that file cannot be read.
bool is_kernel_function(std::string_view name);
// Looks in `kallsyms`, the text of such a file.
bool names_function(std::string_view kallsyms, std::string_view name);

}  // namespace kevt::target
