// Which line of the source an instruction came from, by debug information (DWARF).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/addresses.h"

namespace kevt::target {

struct SourceLine {
  std::string file;  // as the compiler was told it; relative ones with the folder it ran in
  int line = 0;      // from 1
};

// `path`: the program or library; its debug information is looked for as find_debug_file() does. nullopt: there is
// none, or it does not tell of this address. Opened anew at every call: for a person's questions, not for many.
std::optional<SourceLine> source_line(const std::string& path, ImageAddr address);

}  // namespace kevt::target
