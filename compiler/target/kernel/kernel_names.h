// Whether a name is one of the running kernel's functions; its addresses are nobody's business here.
#pragma once

#include <string_view>

namespace kevt::target {

// /proc/kallsyms shows names to everybody. False also where there is none.
bool is_kernel_function(std::string_view name);
// The same of such a text, read from its front on.
bool names_function(std::string_view kallsyms, std::string_view name);

}  // namespace kevt::target
