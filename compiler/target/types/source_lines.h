// Which line of the source an instruction came from, by debug information (DWARF).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/addresses.h"

namespace kevt::target {

struct SourceLine {
  std::string file;  // as it was given to the compiler; a relative name with the compiler's folder before it
  int line = 0;      // from 1
};

// `path`: the program or library; its debug information is looked for as find_debug_file() does. nullopt: there is no
// debug information, or none for this address. Every call opens the files anew: this is for single questions of a user.
std::optional<SourceLine> source_line(const std::string& path, ImageAddr address);

}  // namespace kevt::target
