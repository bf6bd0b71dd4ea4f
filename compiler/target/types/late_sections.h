// Sections of debug information that are read from the file as they are asked for. Only code that uses elfutils
// includes this header.
//
// A question is about a function or a line: of 300 MB it needs a unit or two, and a hundred texts. libdw wants each
// section whole in memory, but looks only at the heads of units (.debug_info), at the DIEs, line tables and places of
// variables that it is asked for, and at no text of .debug_str: it gives their addresses out. So these sections may be
// left unread (open_dwarf.cpp) as long as
//   texts                 are taken by text_of(),
//   DIEs                  that were not reached through another DIE are taken by die_at() or unit_at(),
//   line tables           are asked for behind read_lines_of(),
//   places of variables   are asked for behind read_places_of().
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/target/elf/checked_bytes.h"
#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

// These are thread safe for different files. What is not read late has been read.

// The text of an attribute; null: it is no text, or it cannot be read.
const char* text_of(Dwarf_Attribute& attribute);
// Reads the unit that the DIE is in. False: it cannot be read.
bool read_unit_of(const Dwarf_Die& die);
// The DIE at that offset of .debug_info, or the unit that has the code at an address; its unit has been read.
std::optional<Dwarf_Die> die_at(Dwarf* dwarf, Dwarf_Off at);
// Without .debug_aranges the units are searched one after the other.
std::optional<Dwarf_Die> unit_at(Dwarf* dwarf, Dwarf_Addr address);
// Reads the unit's line table, or the list that a DW_AT_location or DW_AT_frame_base refers to. False: it cannot be
// read.
bool read_lines_of(Dwarf_Die& unit);
bool read_places_of(Dwarf_Attribute& attribute);

// What the above may read of a file: parts of its contents.
struct LateParts {
  std::optional<CheckedBytes> texts;   // .debug_str
  std::optional<CheckedBytes> units;   // .debug_info
  std::vector<std::uint64_t> heads;    // where in `units` each begins, ascending
  std::optional<CheckedBytes> lines;   // .debug_line
  std::optional<CheckedBytes> places;  // .debug_loclists

  bool empty() const { return !texts && !units && !lines && !places; }
  bool has(std::string_view section) const;
};
struct LateLimits {
  std::uint64_t section_bytes = 4 << 20;  // smaller sections of texts and units are read at once
  std::uint64_t table_bytes = 1 << 18;    // likewise of line tables and places of variables
  std::uint64_t unit_bytes = 1 << 18;     // on average; smaller units are read as fast as their heads
};
// The sections that are large, and of which libdw needs nothing more. The heads of the units have been read then.
LateParts late_parts(const FileContents& contents, LateLimits limits = {});

// While it lives, the functions above read what they give out of.
class LateSections {
 public:
  LateSections(Dwarf* dwarf, std::shared_ptr<const FileContents> contents, LateParts parts);
  LateSections(const LateSections&) = delete;
  LateSections& operator=(const LateSections&) = delete;
  ~LateSections();

 private:
  Dwarf* dwarf_;
  std::vector<const std::uint8_t*> begins_;
};

}  // namespace kevt::target
