// libdw over a private copy, with the sections that tell types and lines.
//
// libdw would open one more file by itself: the one that .gnu_debugaltlink names, for strings and types in it. That
// file is found and opened here first, in the same way as all files, and libdw does not see the section. Split files
// (.dwo) are opened by functions of libdw that nobody here calls (dwarf_cu_info, dwarf_get_units, dwarf_next_lines).
#include "compiler/target/types/open_dwarf.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/error.h"

namespace kevt::target {
namespace {

// The sections that are read. Those of macros and names are large and are not needed.
constexpr std::string_view kRead[] = {"abbrev", "addr",     "aranges", "info",        "line", "line_str",
                                      "ranges", "rnglists", "str",     "str_offsets", "types"};
constexpr std::string_view kPlaces[] = {"frame", "loc", "loclists"};

bool is_read(std::string_view section, DwarfSections sections) {
  for (const std::string_view prefix : {".debug_", ".zdebug_"}) {
    if (!section.starts_with(prefix)) continue;
    const std::string_view name = section.substr(prefix.size());
    const bool is_place = std::ranges::find(kPlaces, name) != std::end(kPlaces);
    return is_place ? sections == DwarfSections::PlacesOfVariables : std::ranges::find(kRead, name) != std::end(kRead);
  }
  return false;
}

}  // namespace

Result<OpenDwarf> OpenDwarf::of(std::shared_ptr<FileContents> contents, DwarfSections sections, LateLimits limits,
                                Role role) {
  OpenDwarf dwarf;
  LateParts late = late_parts(*contents, limits);
  if (role == Role::Alternate) late.units.reset();  // other files refer to its DIEs
  if (sections != DwarfSections::PlacesOfVariables) late.places.reset();
  auto elf = KEVT_TRY(open_private_elf(*contents, [&](std::string_view name) {
    if (!is_read(name, sections)) return SectionUse::None;
    return late.has(name) ? SectionUse::ReadLater : SectionUse::Read;
  }));
  if (late.empty()) contents->close();
  dwarf.contents_ = std::move(contents);
  dwarf.elf_ = std::move(elf);
  dwarf.dwarf_.reset(dwarf_begin_elf(dwarf.elf_.get(), DWARF_C_READ, nullptr));
  if (!dwarf.dwarf_)
    return std::unexpected(
        Error(fmt::format("the debug information of `{}` is damaged: {}", dwarf.contents_->name(), dwarf_errmsg(-1))));
  if (!late.empty()) dwarf.late_ = std::make_unique<LateSections>(dwarf.dwarf_.get(), dwarf.contents_, std::move(late));
  return dwarf;
}

Result<OpenDwarf> OpenDwarf::of(const DebugFile& file, DwarfSections sections, LateLimits limits) {
  const auto link = find_alternate_file(*file.contents);
  auto dwarf = of(file.contents, sections, limits, Role::Program);
  if (!dwarf || !link) return dwarf;
  auto alternate = of(link, DwarfSections::TypesAndLines, limits, Role::Alternate);
  if (!alternate) return dwarf;  // names and types in the alternate file stay unknown
  dwarf->alternate_ = std::make_unique<OpenDwarf>(std::move(*alternate));
  dwarf_setalt(dwarf->get(), dwarf->alternate_->get());
  return dwarf;
}

}  // namespace kevt::target
