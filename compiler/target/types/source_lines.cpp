// The line table of the unit that covers the address, as libdw reads it.
//
// libdw refuses broken tables. Its answer is used as text and a number only: no file of that name is opened.
#include "compiler/target/types/source_lines.h"

#include <elfutils/libdw.h>

#include <memory>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/types/late_sections.h"
#include "compiler/target/types/open_dwarf.h"

namespace kevt::target {

std::optional<SourceLine> source_line(const std::string& path, ImageAddr address) {
  const DebugFile file = find_debug_file(path);
  if (!file.contents) return std::nullopt;
  const auto dwarf = OpenDwarf::of(file);
  if (!dwarf) return std::nullopt;
  auto unit = unit_at(dwarf->get(), address.value);
  Dwarf_Line* line = unit && read_lines_of(*unit) ? dwarf_getsrc_die(&*unit, address.value) : nullptr;
  SourceLine out;
  const char* name = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (name == nullptr || dwarf_lineno(line, &out.line) != 0 || out.line <= 0) return std::nullopt;
  out.file = name;
  return out;
}

}  // namespace kevt::target
