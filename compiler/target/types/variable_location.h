// Where a variable is at one place of the code: a DWARF location expression (DWARF 5, 2.5 and 2.6) as a walk that a
// fetch argument can say. Only code that uses elfutils includes this header.
#pragma once

#include <elfutils/libdw.h>

#include <memory>

#include "compiler/target/line_places.h"

namespace kevt::target {

// What a location expression may lean on.
struct LocationContext {
  Dwarf_Addr address = 0;             // the place
  Dwarf_Die* function = nullptr;      // the function whose frame it is, not one that was inlined; may be null
  Dwarf_CFI* frames = nullptr;        // .eh_frame; may be null
  Dwarf_CFI* debug_frames = nullptr;  // .debug_frame; may be null
};

// `variable` is a DW_TAG_variable or DW_TAG_formal_parameter. Without a location the answer says why.
VariableLocation variable_location(Dwarf_Die& variable, const LocationContext& context);

}  // namespace kevt::target
