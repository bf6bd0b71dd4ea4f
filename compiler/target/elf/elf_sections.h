// Headers, sections and notes of an ELF file, read without trust in any number. ElfImage and the readers of debug
// information share this code.
#pragma once

#include <elf.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {

// The header of a 64-bit little-endian ELF file of any type; an error for any other file.
Result<Elf64_Ehdr> read_elf_header(CheckedBytes file);

struct ElfSections {
  CheckedBytes file;
  std::vector<Elf64_Shdr> headers;
  std::uint64_t names_index = 0;  // index of the section that holds the names
  CheckedBytes names;

  std::string_view name_of(const Elf64_Shdr& section) const { return names.text(section.sh_name, kLongestName); }
  const Elf64_Shdr* find(std::string_view name) const;
  // Empty if the section lies outside the file, or takes no room there (SHT_NOBITS).
  CheckedBytes contents(const Elf64_Shdr& section) const;

  static constexpr std::uint64_t kLongestName = 255;
};

// Sections are optional (a loader needs none): damaged headers mean no sections.
ElfSections read_sections(CheckedBytes file, const Elf64_Ehdr& header);

inline constexpr std::uint32_t kLongestBuildId = 64;
// The bytes of the NT_GNU_BUILD_ID note, 1 to kLongestBuildId; empty if there is no such note.
std::vector<std::uint8_t> build_id_of(const ElfSections& sections);

}  // namespace kevt::target
