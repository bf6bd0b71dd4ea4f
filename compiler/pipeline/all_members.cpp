// At functions the members are written out as paths, which sema resolves as if somebody had written them. At lines and
// in PATH:FUNCTION each member is fetched where it is at each place: variable_arguments.cpp.
#include "compiler/pipeline/all_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/pipeline/variable_arguments.h"
#include "compiler/pipeline/variable_path.h"
#include "compiler/pipeline/words.h"
#include "compiler/sema/list_object.h"
#include "compiler/sema/text_object.h"
#include "grammar/parse.h"

namespace kevt::pipeline {

namespace {

using target::Type;
using target::TypeClass;
using target::TypeId;
using target::TypeTable;
using Refusal = std::unexpected<std::string>;

constexpr std::string_view kReturned = "$retval";
constexpr std::uint32_t kMostOfArray = 64;  // of an array argument (MAX_ARRAY_LEN)

// Whether a typed argument holds all of it. Kernels' typed arguments are numbers and addresses.
bool can_be_held(const TypeTable& types, const target::Member& member, target::TypeSource source) {
  const bool is_of_program = source == target::TypeSource::DebugInformation;
  const Type& type = types.type(types.strip(member.type));
  const auto is_number = [&](const Type& one) {
    const bool is_kind = one.kind == TypeClass::Integer || one.kind == TypeClass::Enum ||
                         (one.kind == TypeClass::Float && is_of_program);
    return is_kind && (one.bytes == 1 || one.bytes == 2 || one.bytes == 4 || one.bytes == 8);
  };
  if (type.kind == TypeClass::Pointer || is_number(type)) return true;
  if (is_of_program && (sema::text_object(types, member.type) || sema::list_object(types, member.type))) return true;
  return is_of_program && type.kind == TypeClass::Array && type.count > 0 && type.count <= kMostOfArray &&
         is_number(types.type(types.strip(type.target)));
}

// Of a structure, those of anonymous structures in it, too.
void add_members(const TypeTable& types, TypeId structure, target::TypeSource source, unsigned depth,
                 std::vector<std::string>& names) {
  constexpr unsigned kDeepest = 8;
  constexpr std::size_t kMost = 128;  // MAX_TRACE_ARGS
  const Type& type = types.type(types.strip(structure));
  if (!is_structure(type) || depth > kDeepest) return;
  for (const target::Member& member : types.members(type)) {
    if (names.size() >= kMost) return;
    const std::string_view name = types.name(member.name);
    if (name.empty())
      add_members(types, member.type, source, depth + 1, names);
    else if (is_argument_name(name) && can_be_held(types, member, source))
      names.emplace_back(name);
  }
}

// The type of the parameter, or of what is returned, at which the path begins.
std::expected<TypeId, std::string> type_of_first(std::string_view name, const target::FunctionTypes& function) {
  const Type& prototype = function.table->type(function.prototype);
  if (name == kReturned) return prototype.target;
  for (const target::Member& parameter : function.table->members(prototype))
    if (function.table->name(parameter.name) == name) return parameter.type;
  return Refusal(fmt::format("the function has no parameter `{}`", name));
}

// The structure that `path`, "file->f_path." say, ends in.
std::expected<TypeId, std::string> structure_at(std::string_view path, const target::FunctionTypes& function) {
  const TypeTable& types = *function.table;
  const std::size_t first = path.find_first_of(".-");
  TypeId here = KEVT_TRY(type_of_first(path.substr(0, first), function));
  for (path.remove_prefix(first); !path.empty();) {
    const bool is_arrow = path.starts_with("->");
    path.remove_prefix(is_arrow ? 2 : 1);
    const Type& type = types.type(types.strip(here));
    if ((type.kind == TypeClass::Pointer) != is_arrow)
      return Refusal(fmt::format("it is a `{}`{}", types.type_text(here),
                                 is_arrow && !is_structure(type) ? ", no pointer"
                                 : is_arrow                      ? ": write `.`"
                                                                 : ": write `->`"));
    if (is_arrow) here = type.target;
    if (!is_structure(types.type(types.strip(here))))
      return Refusal(fmt::format("it is a `{}`, no structure", types.type_text(here)));
    if (path.empty()) break;
    const std::string_view name = path.substr(0, path.find_first_of(".-"));
    const auto member = types.find_member(types.strip(here), name);
    if (!member) return Refusal(fmt::format("`{}` has no member `{}`", types.type_text(here), name));
    here = member->type;
    path.remove_prefix(name.size());
  }
  return here;
}

diag::Diagnostic mistake_with_note(std::string_view line, const Word& word, std::string note, diag::Kind kind) {
  diag::Diagnostic made = mistake_at(line, word, "", kind);
  made.notes.push_back({std::move(note)});
  return made;
}

// The function that the definition without its arguments names; nullopt: it is no function's first byte.
std::optional<model::SymbolPlace> function_of(const std::vector<Word>& words) {
  diag::Sink sink;
  const auto statement = grammar::parse_line_leniently(fmt::format("{} {}", words[0].text, words[1].text),
                                                       grammar::EventsFile::Dynamic, sink);
  const auto* definition = statement ? std::get_if<model::Definition>(&*statement) : nullptr;
  const auto* place = definition ? std::get_if<model::SymbolPlace>(&definition->place) : nullptr;
  return place != nullptr && place->offset == 0 ? std::optional(*place) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> path_of_all_members(std::string_view word) {
  const bool has_form = word.ends_with("->*") || word.ends_with(".*");
  if (!has_form || word.find_first_of("=:()+@") != std::string_view::npos) return std::nullopt;
  const std::string_view path = word.substr(0, word.size() - 1);
  return is_variable_path(path) || path.starts_with(kReturned) ? std::optional(path) : std::nullopt;
}

std::string_view all_members_misuse(std::string_view word) {
  const std::size_t name_ends = word.find('=');
  const std::string_view value = name_ends == std::string_view::npos ? word : word.substr(name_ends + 1);
  const std::string_view operand = value.substr(0, value.find(':'));
  if (operand == word || !path_of_all_members(operand)) return "";
  return "`*` stands for several members, each an argument with its own name and type";
}

std::expected<std::optional<std::string>, diag::Diagnostic> expand_all_members(std::string_view line,
                                                                               const target::TargetEnv& env) {
  const std::vector<Word> words = words_of(line);
  const auto first = std::ranges::find_if(
      words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end(),
      [](const Word& word) { return path_of_all_members(word.text) || !all_members_misuse(word.text).empty(); });
  if (first == words.end()) return std::nullopt;
  const auto place = function_of(words);
  if (!place) return std::nullopt;
  std::optional<std::string_view> module;
  if (place->module) module = *place->module;
  const auto function = env.function_types(module, place->symbol);
  if (!function && function.error().failure == target::TypesFailure::NotChecked) return std::nullopt;
  if (!function) return std::unexpected(mistake_with_note(line, *first, function.error().why, diag::Kind::NoBtfEntry));
  std::string made(line.substr(0, words[1].column + words[1].text.size()));
  std::set<std::string> names = written_names(words);
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (const std::string_view misuse = all_members_misuse(words[i].text); !misuse.empty())
      return std::unexpected(mistake_with_note(line, words[i], std::string(misuse), diag::Kind::NoBtfField));
    const auto path = path_of_all_members(words[i].text);
    if (!path) {
      made += fmt::format(" {}", words[i].text);
      continue;
    }
    const auto structure = structure_at(*path, *function);
    if (!structure)
      return std::unexpected(mistake_with_note(line, words[i], structure.error(), diag::Kind::NoBtfField));
    std::vector<std::string> members;
    add_members(*function->table, *structure, env.type_source(), 0, members);
    if (members.empty())
      return std::unexpected(mistake_with_note(
          line, words[i],
          fmt::format("`{}` has no member that an argument can hold", function->table->type_text(*structure)),
          diag::Kind::NoPtrStrct));
    for (const std::string& member : members)
      if (const std::string name = member_argument_name(*path, member, names); !name.empty())
        made += fmt::format(" {}={}{}", name, *path, member);
  }
  return made;
}

std::optional<diag::Diagnostic> all_members_mistake(std::string_view line) {
  const std::vector<Word> words = words_of(line);
  for (std::size_t i = 2; i < words.size(); ++i)
    if (path_of_all_members(words[i].text))
      return mistake_with_note(line, words[i], "kernels take one member at a time; kevtrace makes an argument of each",
                               diag::Kind::NoBtfField);
  return std::nullopt;
}

}  // namespace kevt::pipeline
