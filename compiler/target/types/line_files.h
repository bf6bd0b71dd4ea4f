// LineFiles: the names of the source files of a unit, from the head of its line table. libdw (0.188) decodes and sorts
// all rows of a table before it tells them, which takes seconds in a large program.
//
// DWARF 2 to 5, section 6.2.4 of each.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {

class LineFiles {
 public:
  // `dwarf` outlives this object.
  explicit LineFiles(Dwarf* dwarf);

  // As dwarf_filesrc() gives them, without an entry for the number 0 before DWARF 5. nullopt: the table is in a form
  // that is not read here (packed sections, other versions, damage).
  std::optional<std::vector<std::string>> of(Dwarf_Die& unit) const;

 private:
  CheckedBytes line_, line_texts_, texts_;  // .debug_line, .debug_line_str, .debug_str
};

// A line table, by its head.
struct LineTableExtent {
  std::uint64_t bytes = 0;       // 0: its head is damaged, or of an unknown version
  bool needs_debug_str = false;  // names of its files are there, as DWARF 5 allows and hardly any compiler does
};
LineTableExtent line_table_at(CheckedBytes line_tables, std::uint64_t at);

// Whether one of the tables, one behind the other, needs .debug_str. True also of tables that are damaged.
bool needs_debug_str(CheckedBytes line_tables);

}  // namespace kevt::target
