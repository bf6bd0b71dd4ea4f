// The file that holds a program's debug information.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace kevt::target {

struct DebugFile {
  UniqueFd fd;      // invalid: there is none
  std::string why;  // what is missing, and what would help
};

DebugFile find_debug_file(const std::string& path);

}  // namespace kevt::target
