// A file's debug information, opened with libdw. Only code that uses elfutils includes this header.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/elf/private_elf.h"
#include "compiler/target/types/late_sections.h"

namespace kevt::target {

// Which sections are read: the places of variables are large, and few questions need them.
enum class DwarfSections : std::uint8_t { TypesAndLines, PlacesOfVariables };

class OpenDwarf {
 public:
  // Opens `file`, whose contents must not be null, and the file that it shares with others (dwz). libdw itself opens no
  // file.
  static Result<OpenDwarf> of(const DebugFile& file, DwarfSections sections = DwarfSections::TypesAndLines,
                              LateLimits limits = {});

  Dwarf* get() const { return dwarf_.get(); }
  // The size of the file with the debug information.
  std::uint64_t file_bytes() const { return contents_->bytes().size(); }

 private:
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  OpenDwarf() = default;
  enum class Role : std::uint8_t { Program, Alternate };
  static Result<OpenDwarf> of(std::shared_ptr<FileContents> contents, DwarfSections sections, LateLimits limits,
                              Role role);

  // Destroyed from the last to the first: each needs those above it.
  std::unique_ptr<OpenDwarf> alternate_;
  std::shared_ptr<FileContents> contents_;
  OpenElf elf_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  std::unique_ptr<LateSections> late_;
};

}  // namespace kevt::target
