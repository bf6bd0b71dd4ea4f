// Which sections may be read late.
//
// Units are read late only if no DIE refers to one of another unit: then all that is reached from a DIE lies in its
// unit. The forms of such references stand in .debug_abbrev, which is small.
#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/target/elf/elf_sections.h"
#include "compiler/target/types/late_sections.h"
#include "compiler/target/types/line_files.h"
#include "compiler/target/types/table_cursor.h"

namespace kevt::target {
namespace {

constexpr std::uint32_t kLeastHead = 7;  // bytes behind the length, of DWARF 2 to 4
constexpr std::uint64_t kHead = 4096;    // bytes of a unit in which its own DIE ends

bool may_leave_unit(std::uint64_t form) {
  constexpr std::uint64_t kForms[] = {DW_FORM_ref_addr, DW_FORM_ref_sig8,    DW_FORM_ref_sup4,
                                      DW_FORM_ref_sup8, DW_FORM_GNU_ref_alt, DW_FORM_indirect};
  return std::ranges::find(kForms, form) != std::end(kForms);
}

// All tables of .debug_abbrev, one behind the other. False also of tables that are damaged.
bool references_stay_in_units(CheckedBytes abbreviations) {
  TableCursor at(abbreviations, 0);
  while (at.good() && at.place() < abbreviations.size()) {
    if (at.uleb() == 0) continue;  // the end of a table
    at.uleb();                     // the tag
    at.skip(1);                    // whether there are children
    for (;;) {
      const std::uint64_t name = at.uleb(), form = at.uleb();
      if (!at.good() || may_leave_unit(form)) return false;
      if (form == DW_FORM_implicit_const) at.uleb();  // as long as a number with a sign
      if (name == 0 && form == 0) break;
    }
  }
  return at.good();
}

// Where each unit begins, if they fill the section. Reads their heads.
std::optional<std::vector<std::uint64_t>> heads_of(CheckedBytes units, std::uint64_t unit_bytes) {
  std::vector<std::uint64_t> heads;
  for (std::uint64_t at = 0; at < units.size();) {
    const auto bytes = units.read<std::uint32_t>(at);
    if (!bytes || *bytes < kLeastHead || *bytes >= 0xfffffff0 || heads.size() == units.size() / unit_bytes)
      return std::nullopt;
    const std::uint64_t whole = sizeof *bytes + std::uint64_t{*bytes};
    const auto unit = units.part(at, whole);
    if (!unit || unit->part(0, std::min(whole, kHead))->span().empty()) return std::nullopt;
    heads.push_back(at);
    at += whole;
  }
  return heads;
}

}  // namespace

bool LateParts::has(std::string_view section) const {
  return (texts && section == ".debug_str") || (units && section == ".debug_info") ||
         (lines && section == ".debug_line") || (places && section == ".debug_loclists");
}

LateParts late_parts(const FileContents& contents, LateLimits limits) {
  LateParts parts;
  const CheckedBytes file(contents);
  const auto header = read_elf_header(file);
  if (!header) return parts;
  const ElfSections all = read_sections(file, *header);
  const auto plain = [&](std::string_view name) -> std::optional<CheckedBytes> {
    const Elf64_Shdr* section = all.find(name);
    if (section == nullptr || section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) != 0)
      return std::nullopt;
    const CheckedBytes bytes = all.contents(*section);
    // A section with holes is judged when it is opened (private_elf.cpp); a walk over its zeros would take for ever.
    return bytes.size() == section->sh_size && bytes.data_bytes() == bytes.size() ? std::optional(bytes) : std::nullopt;
  };
  const auto if_large = [&](std::string_view name, std::uint64_t least) {
    const auto bytes = plain(name);
    return bytes && bytes->size() >= least ? bytes : std::nullopt;
  };
  parts.lines = if_large(".debug_line", limits.table_bytes);
  parts.places = if_large(".debug_loclists", limits.table_bytes);
  // libdw reads the names of files by itself, when it reads a line table.
  const auto lines = plain(".debug_line");
  if (parts.lines || (lines && !needs_debug_str(*lines))) parts.texts = if_large(".debug_str", limits.section_bytes);
  const auto units = if_large(".debug_info", limits.section_bytes), abbreviations = plain(".debug_abbrev");
  if (!units || !abbreviations || !references_stay_in_units(*abbreviations)) return parts;
  if (auto heads = heads_of(*units, limits.unit_bytes)) {
    parts.units = units;
    parts.heads = *std::move(heads);
  }
  return parts;
}

}  // namespace kevt::target
