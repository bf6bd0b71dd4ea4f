// What is known of the lines and variables of a file. Private to source_places.cpp and entry_places.cpp.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/target/elf/file_contents.h"
#include "compiler/target/elf/private_elf.h"
#include "compiler/target/types/debug_types_state.h"
#include "compiler/target/types/line_rows.h"
#include "compiler/target/types/source_index.h"
#include "compiler/target/types/source_places.h"
#include "compiler/target/types/variable_location.h"

namespace kevt::target {

// A line of the source: of a file with this name.
using FileLine = std::pair<std::string, std::uint32_t>;

struct SourcePlaces::State {
  explicit State(const std::string& path);

  struct EndFrames {
    void operator()(Dwarf_CFI* frames) const { dwarf_cfi_end(frames); }
  };
  std::shared_ptr<DebugTypes::State> types;
  std::shared_ptr<FileContents> frames_contents;
  OpenElf frames_elf;
  std::unique_ptr<Dwarf_CFI, EndFrames> frames;
  Dwarf_CFI* debug_frames = nullptr;  // owned by the Dwarf
  std::map<Dwarf_Off, std::unique_ptr<LineUnit>> units;
  std::optional<SourceIndex> index;

  Dwarf* dwarf() const { return types->dwarf->get(); }

  const LineUnit& unit_of(Dwarf_Die die);
  std::expected<FileLine, LookupError> line_meant(const ElfImage& image, std::string_view source, std::uint32_t line);
  std::uint32_t last_line_of(const std::string& file, std::uint32_t first);
  void add_aliased(const ElfImage& image, std::string_view name, std::set<FileLine>& functions);
  std::vector<Dwarf_Die> units_with(const std::string& file);
  std::vector<LinePlace> places_of(const ElfImage& image, const FileLine& line, const LineQuestion& question);
  std::expected<std::vector<LinePlace>, LookupError> entries_of(const ElfImage& image, std::string_view path,
                                                                const LineQuestion& question);
  FileLine declaration_at(Dwarf_Addr address);
  std::expected<void, LookupError> add_parameters(LinePlace& place, std::string_view symbol,
                                                  const LineQuestion& question);
  std::vector<std::string> lines_near(const FileLine& line);
  LookupError no_place(const FileLine& line);

  LocationContext context_at(Dwarf_Addr address, Dwarf_Die* function) const {
    return {.address = address, .function = function, .frames = frames.get(), .debug_frames = debug_frames};
  }
  VariableLocation locate(Dwarf_Die variable, const Scopes& scopes, Dwarf_Addr address) const;
  std::string nearest_line(const LineUnit& unit, Dwarf_Die variable, const Scopes& scopes, int line) const;
  SourceVariable variable_of(Dwarf_Die die, const Scopes& scopes, Dwarf_Addr address);
  std::optional<Dwarf_Die> global_named(Dwarf_Die unit, const std::string& name);
  void add_variables(LinePlace& place, const LineUnit& unit, const Scopes& scopes, const LineQuestion& question,
                     int line);
};

}  // namespace kevt::target
