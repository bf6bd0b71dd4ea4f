// Questions at a function's first instruction. Symbols tell where that is; parameters are where the ABI passes them,
// or, where the compiler has changed what is passed, where debug information says.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/error.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/glob_matches.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/passed_parameters.h"
#include "compiler/target/types/source_places_state.h"

namespace kevt::target {

// The parameters that are asked for, where they are before the function's first instruction has run. Location lists of
// debug information do not tell: without optimization they name the stack's place that a parameter has later. Where the
// compiler has changed what is passed they alone tell, and such code is optimized.
std::expected<void, LookupError> SourcePlaces::State::add_parameters(LinePlace& place, std::string_view symbol,
                                                                     const LineQuestion& question) {
  const auto function = types->function_at(place.address, place.function);
  if (!function) return std::unexpected(LookupError{.why = function.error()});
  auto unit = unit_at(dwarf(), place.address);
  if (!unit) return std::unexpected(LookupError{.why = "its parameters are not described"});
  if (function->passes_otherwise || has_other_arguments(symbol)) {
    Scopes scopes = scopes_at(*unit, place.address);
    const auto frame = frame_function(scopes);
    if (!frame) return std::unexpected(LookupError{.why = "its parameters are not described"});
    scopes.resize(*frame + 1);  // also without functions that are inlined at its beginning
    add_variables(place, unit_of(*unit), scopes, question, 0);
    std::erase_if(place.variables, [&](const SourceVariable& one) {
      return !one.is_parameter && std::ranges::find(question.names, one.name) == question.names.end();
    });
    return {};
  }
  const TypeTable& table = types->table;
  for (const Member& parameter : table.members(table.type(function->prototype))) {
    const std::string name(table.name(parameter.name));
    if (name.empty() || (!question.all_locals && std::ranges::find(question.names, name) == question.names.end()))
      continue;
    place.variables.push_back(
        {.name = name, .type = parameter.type, .is_parameter = true, .location = passed_location(table, parameter)});
  }
  for (const std::string& name : question.names)
    if (std::ranges::find(place.variables, name, &SourceVariable::name) == place.variables.end())
      if (const auto global = global_named(*unit, name))
        place.variables.push_back(variable_of(*global, {}, place.address));
  return {};
}

namespace {

// Functions with similar names, or those of that name with other parameters.
LookupError near_functions(const ElfImage& image, std::string_view wanted) {
  if (const std::string_view plain = qualified_name(wanted); plain != wanted) {
    LookupError overloads;
    for (const ElfSymbol& symbol : image.find_functions_of_source(plain))
      overloads.candidates.push_back(source_name(symbol.name));
    if (!overloads.candidates.empty()) return overloads;
  }
  NearMisses near(wanted);
  for (const ElfSymbol& symbol : image.symbols()) {
    if (symbol.kind == SymbolKind::Object) continue;
    const std::string name = may_be_mangled(symbol.name) ? source_name(symbol.name) : std::string();
    near.consider(name.empty() ? symbol.name : qualified_name(name), "");
  }
  return {.candidates = near.best()};
}

using Symbols = std::vector<ElfSymbol>;

LookupError several_functions(const ElfImage& image, std::string_view path, const Symbols& symbols) {
  LookupError several{LookupFailure::NotUnique, {}};
  for (const ElfSymbol& symbol : symbols)
    if (const auto offset = image.file_offset(symbol.address))
      several.candidates.push_back(fmt::format("{}:{:#x}", path, offset->value));
  return several;
}

// The symbol of the function; of a function that is there in copies only, that of each.
std::expected<Symbols, LookupError> entry_symbols(const ElfImage& image, const LineQuestion& question) {
  const auto is_for_others = [] { return std::unexpected(LookupError{LookupFailure::NotChecked, {}}); };
  auto found = image.find_functions(question.source);
  if (found.empty()) found = image.find_functions_of_source(question.source);
  if (question.only_copies && (image.is_jit() || !found.empty())) return is_for_others();
  if (found.size() > 1) return std::unexpected(several_functions(image, question.module, found));
  if (found.empty()) found = image.find_copies(question.source);
  if (found.empty() && question.only_copies) return is_for_others();
  if (found.empty()) return std::unexpected(near_functions(image, question.source));
  if (found.size() > kMostLinePlaces)
    return std::unexpected(LookupError{.why = fmt::format("there are more than {} copies of it", kMostLinePlaces)});
  if (found.front().kind == SymbolKind::IFunc)
    return std::unexpected(LookupError{.why = "which of its variants runs is chosen when a program starts (an IFUNC); "
                                              "`kevtrace list` shows their names"});
  const bool names_any = question.all_locals || !question.names.empty();
  if (image.is_go() && (names_any || question.asks_for_arguments))
    return std::unexpected(LookupError{.why = std::string(kGoPassesElsewhere)});
  for (const ElfSymbol& symbol : found)
    if (question.asks_for_arguments && has_other_arguments(symbol.name))
      return std::unexpected(LookupError{
          .why = fmt::format("`{}` is a copy that the compiler has made, with other arguments: `$argN` is not known, "
                             "a parameter by its name may be",
                             symbol.name)});
  return found;
}

// Functions that the glob matches by the name of the symbol or of the source, each by one name, by address.
std::expected<Symbols, LookupError> globbed_symbols(const ElfImage& image, const LineQuestion& question) {
  if (image.is_go() && (question.all_locals || !question.names.empty() || question.asks_for_arguments))
    return std::unexpected(LookupError{.why = std::string(kGoPassesElsewhere)});
  GlobMatches matches(question.source);
  for (const ElfSymbol& symbol : image.symbols()) {
    if (symbol.kind != SymbolKind::Function) continue;
    matches.consider(symbol.name);
    if (may_be_mangled(symbol.name) && matches.may_match_in(symbol.name))
      matches.consider(symbol.name, qualified_name(source_name(symbol.name)));
  }
  std::map<std::uint64_t, ElfSymbol> by_address;
  for (const std::string& name : matches.take())
    for (const ElfSymbol& symbol : image.find_functions(name)) {  // several may have one name; of versions the default
      const bool can_be_probed = symbol.kind == SymbolKind::Function && image.file_offset(symbol.address) &&
                                 !(question.asks_for_arguments && has_other_arguments(symbol.name));
      if (!can_be_probed) continue;
      const auto [at, is_new] = by_address.try_emplace(symbol.address.value, symbol);
      if (!is_new && is_better_name(symbol.name, at->second.name)) at->second = symbol;
    }
  if (by_address.empty()) return std::unexpected(LookupError{.why = "no function that can be probed matches"});
  if (by_address.size() > kMostGlobbed)
    return std::unexpected(
        LookupError{.why = fmt::format("it matches {} functions; {} are the most", by_address.size(), kMostGlobbed)});
  Symbols found;
  for (const auto& [_, symbol] : by_address) found.push_back(symbol);
  return found;
}

std::expected<Symbols, LookupError> symbols_asked_for(const ElfImage& image, const LineQuestion& question) {
  return question.is_glob ? globbed_symbols(image, question) : entry_symbols(image, question);
}

std::expected<LinePlace, LookupError> place_of_symbol(const ElfImage& image, const ElfSymbol& symbol,
                                                      std::string_view path, const LineQuestion& question) {
  const auto offset = image.file_offset(symbol.address);
  if (!offset || !image.is_executable(symbol.address))
    return std::unexpected(LookupError{.why = "the file has no code there"});
  return LinePlace{.path = std::string(path),
                   .offset = offset->value,
                   .address = symbol.address.value,
                   .function = std::string(question.is_glob ? symbol.name : question.source)};
}

}  // namespace

std::optional<std::expected<LinePlaces, LookupError>> entry_by_symbols(const ElfImage& image, std::string_view path,
                                                                       const LineQuestion& question) {
  if (!question.at_entry) return std::nullopt;
  const auto symbols = symbols_asked_for(image, question);
  if (!symbols) return std::unexpected(symbols.error());
  const bool are_copies = symbols->size() > 1 && !question.is_glob;
  if (question.all_locals || !question.names.empty() || are_copies) return std::nullopt;
  LinePlaces found;
  found.types = std::make_shared<const TypeTable>();
  for (const ElfSymbol& symbol : *symbols) {
    auto place = place_of_symbol(image, symbol, path, question);
    if (!place) return std::unexpected(place.error());
    found.places.push_back(*std::move(place));
  }
  return found;
}

// Copies of several functions of one name are told apart by where the source declares them.
std::expected<std::vector<LinePlace>, LookupError> SourcePlaces::State::entries_of(const ElfImage& image,
                                                                                   std::string_view path,
                                                                                   const LineQuestion& question) {
  const Symbols symbols = KEVT_TRY(symbols_asked_for(image, question));
  const bool are_copies = symbols.size() > 1 && !question.is_glob;
  std::map<std::uint64_t, LinePlace> places;  // aliases are one place
  std::set<FileLine> declared;
  for (const ElfSymbol& symbol : symbols) {
    LinePlace place = KEVT_TRY(place_of_symbol(image, symbol, path, question));
    if (are_copies) declared.insert(declaration_at(place.address));
    if (question.all_locals || !question.names.empty()) {
      auto added = add_parameters(place, symbol.name, question);
      if (!added && question.is_glob) added.error().why.insert(0, fmt::format("`{}`: ", symbol.name));
      KEVT_TRY(std::move(added));
    }
    places.emplace(place.address, std::move(place));
  }
  const bool is_unknown = declared.contains(FileLine());
  if (are_copies && places.size() > 1 && (declared.size() > 1 || is_unknown))
    return std::unexpected(several_functions(image, question.module, symbols));
  std::vector<LinePlace> sorted;
  for (auto& [_, place] : places) sorted.push_back(std::move(place));
  return sorted;
}

// Where the function whose code lies there is declared; empty: it is not known.
FileLine SourcePlaces::State::declaration_at(Dwarf_Addr address) {
  auto unit = types->dwarf ? unit_at(dwarf(), address) : std::nullopt;
  const Scopes scopes = unit ? scopes_at(*unit, address) : Scopes();
  const auto frame = frame_function(scopes);
  if (!frame) return {};
  Dwarf_Die die = scopes[*frame];
  return {declaring_file(die).path(), static_cast<std::uint32_t>(std::max(declaring_line(die), 0))};
}

}  // namespace kevt::target
