// Looks up types for completion and tool tips of definitions.
//
//   p:w work k o->in->|         ->  a int, text const char *, name char[8]
//
// A table of types is valid only until the environment is asked again, so results are copies.
#include "compiler/author/prototypes.h"

#include <fmt/format.h>

#include <cstdlib>

#include "compiler/target/types/type_table.h"

namespace kevt::author {
namespace {

constexpr std::uint32_t kMaxDepth = 8;  // of nested anonymous structures

std::optional<target::FunctionTypes> types_of(const target::TargetEnv& env, const PlaceWord& place) {
  if (place.symbol.empty()) return std::nullopt;
  auto types = env.function_types(place.module.empty() ? std::nullopt : std::optional<std::string_view>(place.module),
                                  place.symbol);
  if (!types || !types->table) return std::nullopt;
  return *types;
}

std::string register_of(std::uint32_t number) {
  if (number == 0) return {};
  const target::ArgumentLocation at = target::argument_location(number);
  if (!at.in_register) return fmt::format("+{}(%sp)", at.offset);
  for (const std::string_view name : target::register_names())
    if (target::register_offset(name) == at.offset) return "%" + std::string(name);
  return {};
}

target::TypeId pointed_to(const target::TypeTable& table, target::TypeId id) {
  id = table.strip(id);
  if (table.type(id).kind != target::TypeClass::Pointer) return id;
  return table.strip(table.type(id).target);
}

void collect_members(const target::TypeTable& table, target::TypeId id, std::uint32_t bits, std::uint32_t depth,
                     std::vector<StructMember>& out) {
  const target::Type& type = table.type(table.strip(id));
  if (type.kind != target::TypeClass::Struct && type.kind != target::TypeClass::Union) return;
  for (const target::Member& member : table.members(type)) {
    const std::uint32_t at = bits + member.bit_offset;
    if (const std::string_view name = table.name(member.name); !name.empty())
      out.push_back({std::string(name), table.type_text(member.type), at / 8});
    else if (depth < kMaxDepth)
      collect_members(table, member.type, at, depth + 1, out);
  }
}

// Takes the next word of `text` from it; empty: there is none.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

// Takes the next step of "a->b.c" from it; empty: there is none.
std::string_view next_step(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of("->."), path.size()));
  const std::string_view step = path.substr(0, std::min(path.find("->"), path.find('.')));
  path.remove_prefix(step.size());
  return step;
}

}  // namespace

std::string_view place_text(std::string_view line) {
  next_word(line);
  return next_word(line);
}

PlaceWord place_of(std::string_view line) {
  std::string_view word = place_text(line);
  PlaceWord place;
  if (word.starts_with('/') || word.starts_with("0x")) return place;
  if (const std::size_t suffix = word.find('%'); suffix != std::string_view::npos && suffix > 0)
    word = word.substr(0, suffix);  // f%return
  if (const std::size_t plus = word.find('+'); plus != std::string_view::npos) {
    place.is_entry = std::strtoull(std::string(word.substr(plus + 1)).c_str(), nullptr, 0) == 0;
    word = word.substr(0, plus);
  }
  const std::size_t colon = word.find(':');
  if (colon != std::string_view::npos && colon > 0) place.module = word.substr(0, colon);
  place.symbol = colon == std::string_view::npos ? word : word.substr(colon + 1);
  return place;
}

std::optional<Prototype> prototype_of(const target::TargetEnv& env, const PlaceWord& place) {
  const auto types = types_of(env, place);
  if (!types) return std::nullopt;
  const target::TypeTable& table = *types->table;
  const target::Type& prototype = table.type(types->prototype);
  Prototype out;
  out.text = table.prototype_text(types->prototype, place.symbol);
  out.returns = table.type_text(prototype.target);
  const bool is_kernel = env.type_source() == target::TypeSource::Kernel;
  const auto members = table.members(prototype);
  for (std::uint32_t i = 0; i < types->parameters && types->first_parameter + i < members.size(); ++i) {
    const target::Member& parameter = members[types->first_parameter + i];
    out.parameters.push_back({std::string(table.name(parameter.name)), table.type_text(parameter.type),
                              register_of(is_kernel ? i + 1 : parameter.bit_offset)});
  }
  return out;
}

std::vector<StructMember> members_behind(const target::TargetEnv& env, const PlaceWord& place, std::string_view path) {
  const auto types = types_of(env, place);
  if (!types) return {};
  const target::TypeTable& table = *types->table;
  const std::string_view first = next_step(path);
  if (first.empty()) return {};
  const target::Type& prototype = table.type(types->prototype);
  std::optional<target::TypeId> at;
  if (first == "$retval") at = prototype.target;
  for (const target::Member& parameter : table.members(prototype))
    if (table.name(parameter.name) == first) at = parameter.type;
  return at ? members_of(table, *at, path) : std::vector<StructMember>();
}

std::vector<StructMember> members_of(const target::TypeTable& table, target::TypeId from, std::string_view path) {
  target::TypeId at = from;
  for (std::string_view step = next_step(path); !step.empty(); step = next_step(path)) {
    const auto member = table.find_member(pointed_to(table, at), step);
    if (!member) return {};
    at = member->type;
  }
  std::vector<StructMember> out;
  collect_members(table, pointed_to(table, at), 0, 0, out);
  return out;
}

}  // namespace kevt::author
