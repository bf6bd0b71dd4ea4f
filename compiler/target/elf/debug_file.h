// The file that holds a program's debug information.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

struct DebugFile {
  std::shared_ptr<FileContents> contents;  // null: no debug information was found
  std::string why;                         // if null: what is missing or was refused, and what would help
};

// Whether a file may be fetched from a network (debuginfod, if the user has set DEBUGINFOD_URLS).
enum class DebugSources : std::uint8_t { ThisMachine, All };

DebugFile find_debug_file(const std::string& path, DebugSources sources = DebugSources::All);

// The file that several debug files share (dwz), as .gnu_debugaltlink of `file` names it. Null: `file` names none, or
// the named file is refused.
std::shared_ptr<FileContents> find_alternate_file(const FileContents& file);

}  // namespace kevt::target
