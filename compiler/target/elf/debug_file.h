// The file that holds a program's debug information.
#pragma once

#include <memory>
#include <string>

#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

struct DebugFile {
  std::shared_ptr<FileContents> contents;  // none: there is no debug information
  std::string why;                         // what is missing or was refused, and what would help
};

DebugFile find_debug_file(const std::string& path);

// The file that several debug files have in common (dwz), as .gnu_debugaltlink of `file` names it; none: there is none,
// or it is refused.
std::shared_ptr<FileContents> find_alternate_file(const FileContents& file);

}  // namespace kevt::target
