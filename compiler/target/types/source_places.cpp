// Which lines, functions and variables a question means, found in the tree of DIEs.
//
// Files and functions are looked for in all units; a line's places are found by line_rows.cpp, a variable's by
// variable_location.cpp. A variable that cannot be read at a place gets a word that says why, and the nearest line of
// its function where it can.
#include "compiler/target/types/source_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/error.h"
#include "compiler/target/elf/elf_sections.h"
#include "compiler/target/elf/file_contents.h"
#include "compiler/target/elf/private_elf.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/types/debug_types_state.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/line_rows.h"
#include "compiler/target/types/open_dwarf.h"
#include "compiler/target/types/source_index.h"
#include "compiler/target/types/source_places_state.h"
#include "compiler/target/types/variable_location.h"

namespace kevt::target {

namespace {

bool ends_with_path(std::string_view path, std::string_view end) {
  return path == end || (path.size() > end.size() && path.ends_with(end) && path[path.size() - end.size() - 1] == '/');
}

// Whether the function is called `wanted`: plain, or with the last of its scopes (`Shape::area`).
bool is_called(Dwarf* dwarf, const IndexedFunction& function, std::string_view wanted) {
  const std::string_view name = function.name;
  if (name == wanted || without_template(name) == wanted) return true;
  const std::size_t scope_ends = wanted.rfind("::");
  if (scope_ends == std::string_view::npos || without_template(name) != wanted.substr(scope_ends + 2)) return false;
  Dwarf_Attribute attribute;
  auto die = die_at(dwarf, function.die);
  if (!die) return false;
  const char* linkage = dwarf_attr_integrate(&*die, DW_AT_linkage_name, &attribute) ? text_of(attribute) : nullptr;
  if (linkage == nullptr) return false;
  const std::string whole = source_name(linkage);
  return matches_source_name(without_template(qualified_name(whole)), wanted) != NameMatch::No;
}

// Of the debug information of a program, which may lie in another file of the same build id.
IndexIdentity identity_of(const FileContents& program, const OpenDwarf& debug) {
  const CheckedBytes file(program);
  const auto header = read_elf_header(file);
  if (!header) return {};
  return {.build_id = build_id_of(read_sections(file, *header)), .file_bytes = debug.file_bytes()};
}

}  // namespace

SourcePlaces::State::State(const std::string& path)
    : types(std::make_shared<DebugTypes::State>(path, DwarfSections::PlacesOfVariables)) {
  if (!types->dwarf) return;
  debug_frames = dwarf_getcfi(types->dwarf->get());
  auto opened = FileContents::open(path);
  index.emplace(types->dwarf->get(), opened ? identity_of(**opened, *types->dwarf) : IndexIdentity{});
  if (!opened) return;
  auto elf = open_private_elf(**opened, [](std::string_view name) {
    return name.starts_with(".eh_frame") ? SectionUse::Read : SectionUse::None;
  });
  if (!elf) return;
  frames_contents = std::move(*opened);
  frames_elf = std::move(*elf);
  frames.reset(dwarf_getcfi_elf(frames_elf.get()));
}

const LineUnit& SourcePlaces::State::unit_of(Dwarf_Die die) {
  std::unique_ptr<LineUnit>& unit = units[dwarf_dieoffset(&die)];
  if (!unit) unit = std::make_unique<LineUnit>(read_line_unit(die));
  return *unit;
}

// The units that have lines of the file, by the name that the rows have.
std::vector<Dwarf_Die> SourcePlaces::State::units_with(const std::string& file) {
  std::vector<Dwarf_Die> units;
  const auto found = index->files().find(file);
  if (found == index->files().end()) return units;
  for (const Dwarf_Off at : found->second)
    if (const auto die = die_at(dwarf(), at)) units.push_back(*die);
  return units;
}

VariableLocation SourcePlaces::State::locate(Dwarf_Die variable, const Scopes& scopes, Dwarf_Addr address) const {
  const auto frame = frame_function(scopes);
  Dwarf_Die function{};
  if (frame) function = scopes[*frame];
  return variable_location(variable, context_at(address, frame ? &function : nullptr));
}

// "; it can be read at line 44": the nearest line of the function whose statement begins where the variable has a
// place. Empty: there is none.
std::string SourcePlaces::State::nearest_line(const LineUnit& unit, Dwarf_Die variable, const Scopes& scopes,
                                              int line) const {
  const auto in = innermost_function(scopes);
  if (!in) return "";
  Dwarf_Die function = scopes[*in];
  std::optional<int> best;
  for (const LineRow& row : unit.rows) {
    const bool is_nearer = !best || std::abs(row.line - line) < std::abs(*best - line);
    if (!row.begins_statement || row.ends_sequence || row.line <= 0 || row.line == line || !is_nearer ||
        dwarf_haspc(&function, row.address) <= 0)
      continue;
    if (locate(variable, scopes, row.address).can_be_read()) best = row.line;
  }
  return best ? fmt::format("; it can be read at line {}", *best) : "";
}

SourceVariable SourcePlaces::State::variable_of(Dwarf_Die die, const Scopes& scopes, Dwarf_Addr address) {
  SourceVariable made{.name = name_of(die),
                      .type = types->type_of(die),
                      .is_parameter = dwarf_tag(&die) == DW_TAG_formal_parameter,
                      .location = locate(die, scopes, address)};
  types->fill_all();
  return made;
}

namespace {

std::optional<Dwarf_Die> global_in(Dwarf_Die scope, const std::string& name, unsigned depth) {
  std::optional<Dwarf_Die> found;
  each_child(scope, [&](Dwarf_Die& child) {
    if (found) return;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_variable && name_of(child) == name && dwarf_hasattr_integrate(&child, DW_AT_location))
      found = child;
    else if (tag == DW_TAG_namespace && depth < kMaxScopes)
      found = global_in(child, name, depth + 1);
  });
  return found;
}

}  // namespace

// A variable of the file: the unit's own, or else another unit's that all may use.
std::optional<Dwarf_Die> SourcePlaces::State::global_named(Dwarf_Die unit, const std::string& name) {
  if (auto own = global_in(unit, name, 0)) return own;
  std::optional<Dwarf_Die> found;
  each_unit(dwarf(), [&](Dwarf_Die die) {
    if (found) return;
    auto other = global_in(die, name, 0);
    if (other && dwarf_hasattr_integrate(&*other, DW_AT_external)) found = other;
  });
  return found;
}

namespace {

// Static variables of a function that is inlined are described once, with the function that all copies come from.
template <class Add, class IsNamed>
void add_statics_of_origin(Dwarf_Die& scope, const Add& add, const IsNamed& is_named) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  if (dwarf_attr(&scope, DW_AT_abstract_origin, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &origin) == nullptr)
    return;
  each_child(origin, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_variable || !dwarf_hasattr(&child, DW_AT_location)) return;
    if (const std::string name = name_of(child); is_named(name)) add(child, name);
  });
}

}  // namespace

void SourcePlaces::State::add_variables(LinePlace& place, const LineUnit& unit, const Scopes& scopes,
                                        const LineQuestion& question, int line) {
  std::set<std::string> taken;
  const auto is_named = [&](const std::string& name) {
    return std::ranges::find(question.names, name) != question.names.end();
  };
  // Where a variable that was asked for by its name can be read instead takes a walk over the function's lines.
  const auto add = [&](const Dwarf_Die& die, const std::string& name) {
    if (!taken.insert(name).second) return;
    SourceVariable& made = place.variables.emplace_back(variable_of(die, scopes, place.address));
    if (!made.location.can_be_read() && is_named(name)) made.location.why += nearest_line(unit, die, scopes, line);
  };
  for (std::size_t i = scopes.size(); i-- > 0;) {
    Dwarf_Die scope = scopes[i];
    each_child(scope, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) return;
      const std::string name = name_of(child);
      const bool is_of_compiler = tag == DW_TAG_variable && dwarf_hasattr_integrate(&child, DW_AT_artificial);
      // `extern int x;` in a block is not the variable itself.
      if (is_of_compiler || dwarf_hasattr(&child, DW_AT_declaration) || name.empty() || taken.contains(name) ||
          (!question.all_locals && !is_named(name)))
        return;
      add(child, name);
    });
    add_statics_of_origin(scope, add, is_named);
    if (dwarf_tag(&scope) != DW_TAG_lexical_block) break;  // a caller's variables are not in sight
  }
  for (const std::string& name : question.names) {
    if (taken.contains(name)) continue;
    if (const auto global = global_named(unit.die, name)) add(*global, name);
  }
}

namespace {

// A name for the function: as the source has it, with its namespaces and classes left out.
void name_functions(LinePlace& place, const Scopes& scopes) {
  const auto inner = innermost_function(scopes);
  const auto frame = frame_function(scopes);
  Dwarf_Die die = scopes[*inner];
  place.function = name_of(die);
  if (!frame || *frame == *inner) return;
  Dwarf_Die outer = scopes[*frame];
  place.inlined_into = name_of(outer);
}

}  // namespace

// The functions whose code has the symbol `name`, and another name in the source: `malloc` is __libc_malloc.
void SourcePlaces::State::add_aliased(const ElfImage& image, std::string_view name, std::set<FileLine>& functions) {
  for (const ElfSymbol& symbol : image.find_functions(name))
    if (auto unit = unit_at(dwarf(), symbol.address.value)) {
      const Scopes scopes = scopes_at(*unit, symbol.address.value);
      const int line = scopes.empty() ? 0 : declaring_line(scopes.front());
      const std::string file = scopes.empty() ? "" : declaring_file(scopes.front()).path();
      if (line > 0 && !file.empty()) functions.emplace(file, static_cast<std::uint32_t>(line));
    }
}

// The last line before the next function of the file.
std::uint32_t SourcePlaces::State::last_line_of(const std::string& file, std::uint32_t first) {
  constexpr std::uint32_t kMostLines = 1u << 24;
  std::uint32_t last = first + std::min(kMostLines, ~std::uint32_t{0} - first - 1);
  for (const Dwarf_Die& die : units_with(file))
    for (const DeclaredFunction& one : unit_of(die).functions)
      if (*one.file == file && one.line > first && !one.name().empty()) last = std::min(last, one.line - 1);
  return last;
}

// A source file whose path ends with `source`, or else a function of that name, whose first line is number 0.
std::expected<FileLine, LookupError> SourcePlaces::State::line_meant(const ElfImage& image, std::string_view source,
                                                                     std::uint32_t line) {
  constexpr std::size_t kMostBegun = 20;
  std::set<std::string> files;
  std::set<std::string> begun;  // names of files of which only the beginning is written
  NearMisses near(source);
  for (const auto& [file, _] : index->files()) {
    const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
    near.consider(name, "");
    if (!source.empty() && name.starts_with(source) && begun.size() < kMostBegun) begun.emplace(name);
    if (ends_with_path(file, source)) files.insert(file);
  }
  const auto several = [](std::vector<std::string> which) {
    return std::unexpected(LookupError{LookupFailure::NotUnique, std::move(which)});
  };
  if (files.size() > 1) return several({files.begin(), files.end()});
  if (files.size() == 1) return FileLine{*files.begin(), line};
  std::set<FileLine> functions;
  for (const IndexedFunction& function : index->functions())
    if (is_called(dwarf(), function, source)) functions.emplace(index->file_of(function), function.line);
  if (functions.empty()) add_aliased(image, source, functions);
  if (functions.empty()) {
    for (const IndexedFunction& function : index->functions()) near.consider(function.name, "");
    std::vector<std::string> names = near.best();
    for (const std::string& name : begun)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return std::unexpected(LookupError{LookupFailure::NotFound, std::move(names)});
  }
  if (functions.size() == 1) {
    const auto& [file, first] = *functions.begin();
    const std::uint32_t last = last_line_of(file, first);
    if (line <= last - first) return FileLine{file, first + line};
    return std::unexpected(
        LookupError{.why = fmt::format("`{}` begins at line {} of `{}`, and the next function at line {}", source,
                                       first, file, last + 1)});
  }
  std::vector<std::string> which;
  for (const auto& [file, at] : functions) which.push_back(fmt::format("{}:{}", file, at));
  return several(std::move(which));
}

// The linker leaves the descriptions of functions that it has left out: their code is nowhere in the file.
std::vector<LinePlace> SourcePlaces::State::places_of(const ElfImage& image, const FileLine& line,
                                                      const LineQuestion& question) {
  const auto number = static_cast<int>(line.second);
  std::map<Dwarf_Addr, LinePlace> places;
  for (const Dwarf_Die& die : units_with(line.first)) {
    const LineUnit& unit = unit_of(die);
    for (const StatementPlace& found : places_of_line(unit, line.first, number)) {
      const auto offset = image.file_offset({found.address});
      if (!offset || !image.is_executable({found.address}) || places.contains(found.address)) continue;
      if (places.size() >= kMostLinePlaces) break;
      LinePlace place{.offset = offset->value, .address = found.address};
      name_functions(place, found.scopes);
      add_variables(place, unit, found.scopes, question, number);
      places.emplace(found.address, std::move(place));
    }
  }
  std::vector<LinePlace> sorted;
  for (auto& [_, place] : places) sorted.push_back(std::move(place));
  return sorted;
}

// The nearest lines of the file that have code, ascending.
std::vector<std::string> SourcePlaces::State::lines_near(const FileLine& line) {
  constexpr std::size_t kMost = 3;
  std::set<int> lines;
  for (const Dwarf_Die& die : units_with(line.first))
    for (const LineRow& row : unit_of(die).rows)
      if (row.is_statement_of(line.first) && row.line != static_cast<int>(line.second)) lines.insert(row.line);
  const auto distance = [&](int one) { return std::abs(one - static_cast<int>(line.second)); };
  std::vector<int> nearest(lines.begin(), lines.end());
  std::ranges::stable_sort(nearest, {}, distance);
  nearest.resize(std::min(nearest.size(), kMost));
  std::ranges::sort(nearest);
  std::vector<std::string> texts;
  for (const int one : nearest) texts.push_back(std::to_string(one));
  return texts;
}

LookupError SourcePlaces::State::no_place(const FileLine& line) {
  std::string why = fmt::format("line {} of `{}` has no code of its own", line.second, line.first);
  const auto units = units_with(line.first);
  if (std::ranges::any_of(units, [&](const Dwarf_Die& die) { return unit_of(die).is_skeleton; }))
    why = fmt::format("what `{}` has is described in files of its own (-gsplit-dwarf, .dwo), which are not read",
                      line.first);
  return {.candidates = lines_near(line), .why = std::move(why)};
}

SourcePlaces::SourcePlaces(const std::string& path) : state_(std::make_unique<State>(path)) {}
SourcePlaces::SourcePlaces(SourcePlaces&&) noexcept = default;
SourcePlaces& SourcePlaces::operator=(SourcePlaces&&) noexcept = default;
SourcePlaces::~SourcePlaces() = default;

std::expected<LinePlaces, LookupError> SourcePlaces::find(const ElfImage& image, std::string_view path,
                                                          const LineQuestion& question) {
  if (question.at_entry) {
    LinePlaces entry;
    entry.places = KEVT_TRY(state_->entries_of(image, path, question));
    entry.types = std::shared_ptr<const TypeTable>(state_->types, &state_->types->table);
    return entry;
  }
  if (!state_->types->dwarf) return std::unexpected(LookupError{.why = state_->types->why});
  const auto line = state_->line_meant(image, question.source, question.line);
  if (!line) return std::unexpected(line.error());
  LinePlaces found;
  found.places = state_->places_of(image, *line, question);
  if (found.places.empty()) return std::unexpected(state_->no_place(*line));
  // `sized<int>` means one instance of the template.
  const std::string_view called = question.source.substr(question.source.rfind(':') + 1);
  if (without_template(called) != called && found.places.front().function.contains('<'))
    std::erase_if(found.places, [&](const LinePlace& place) { return place.function != called; });
  if (found.places.empty()) return std::unexpected(state_->no_place(*line));
  for (LinePlace& place : found.places) place.path = path;
  found.types = std::shared_ptr<const TypeTable>(state_->types, &state_->types->table);
  return found;
}

namespace {

void note_variables(ListedLine& line, const LinePlace& place) {
  for (const SourceVariable& variable : place.variables) {
    const bool can_be_read = variable.location.can_be_read() && !variable.location.is_sum();
    auto& where = can_be_read ? line.readable : line.unreadable;
    if (std::ranges::find(where, variable.name) == where.end()) where.push_back(variable.name);
  }
}

}  // namespace

std::expected<ListedSource, LookupError> SourcePlaces::list(const ElfImage& image, const LinesWanted& wanted) {
  if (!state_->types->dwarf) return std::unexpected(LookupError{.why = state_->types->why});
  const auto first = state_->line_meant(image, wanted.source, 0);
  if (!first) return std::unexpected(first.error());
  ListedSource listed{.file = first->first, .function = {}, .first = first->second, .lines = {}};
  auto [from, to] = std::pair(wanted.from, wanted.to);
  if (first->second != 0) {  // a function: up to the next one of the file
    listed.function = wanted.source;
    const std::uint32_t last = state_->last_line_of(first->first, first->second);
    const std::uint32_t length = last - first->second;
    from = first->second + std::min(from, length + 1);
    to = first->second + std::min(to, length);
  }
  std::set<std::uint32_t> lines;
  for (const Dwarf_Die& die : state_->units_with(first->first))
    for (const LineRow& row : state_->unit_of(die).rows)
      if (const auto line = static_cast<std::uint32_t>(row.line);
          row.is_statement_of(first->first) && line >= from && line <= to)
        lines.insert(line);
  const LineQuestion question{.all_locals = true};
  for (const std::uint32_t line : lines) {
    if (listed.lines.size() >= wanted.most) break;
    const auto places = state_->places_of(image, {first->first, line}, question);
    if (places.empty()) continue;
    ListedLine& row = listed.lines.emplace_back(ListedLine{.line = line, .places = places.size()});
    for (const LinePlace& place : places) note_variables(row, place);
    std::erase_if(row.readable, [&](const std::string& name) {
      return std::ranges::find(row.unreadable, name) != row.unreadable.end();
    });
  }
  return listed;
}

std::expected<LinePlaces, LookupError> lines_of_file(const std::string& path, const LineQuestion& question) {
  const auto image = ElfImage::open(path);
  if (!image) return std::unexpected(LookupError{.why = image.error().message()});
  if (auto entry = entry_by_symbols(*image, question.module, question)) return *std::move(entry);
  return SourcePlaces(path).find(*image, question.module, question);
}

std::expected<ListedSource, LookupError> list_lines_of_file(const std::string& path, const LinesWanted& wanted) {
  const auto image = ElfImage::open(path);
  if (!image) return std::unexpected(LookupError{.why = image.error().message()});
  return SourcePlaces(path).list(*image, wanted);
}

}  // namespace kevt::target
