// Where a function's parameters are at its first instruction: as the ABI has it, unless debug information tells that
// the compiler has changed what is passed. Only code that uses elfutils includes this header.
#pragma once

#include <elfutils/libdw.h>

#include <span>

#include "compiler/target/line_places.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

// Where the x86-64 ABI passes a parameter that number_parameters() (debug_types.cpp) has numbered.
VariableLocation passed_location(const TypeTable& types, const Member& parameter);

// Whether callers of `function`, whose code begins at `entry`, pass something else than the ABI has for `parameters`,
// which are numbered. LLVM removes what nobody needs of functions that only their own unit calls, and shifts the rest:
// clang 14 says so (DW_CC_nocall), LLVM 21 not always.
bool passes_otherwise(Dwarf_Die& function, Dwarf_Addr entry, const TypeTable& types,
                      std::span<const Member> parameters);

}  // namespace kevt::target
