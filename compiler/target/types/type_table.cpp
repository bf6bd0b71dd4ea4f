// Walks over the table of types. All walks are bounded: a file may hold a structure that contains itself.
//
// find_member() mirrors btf_find_struct_member() of kernel/trace/trace_btf.c (6.12): members by name first, then the
// anonymous ones found on the way, the last of them first, at most 16 at a time.
#include "compiler/target/types/type_table.h"

namespace kevt::target {

namespace {

constexpr std::size_t kMaxWalk = 4096;
constexpr std::size_t kMaxAnonymous = 16;
constexpr std::size_t kMaxTextDepth = 32;

bool is_structure(const Type& type) { return type.kind == TypeClass::Struct || type.kind == TypeClass::Union; }

}  // namespace

TypeTable::TypeTable() : types_(1), names_(1, '\0') {}

void TypeTable::index(TypeId id) {
  const Type& type = types_[id];
  if (type.name == 0) return;
  if (type.kind == TypeClass::Function) functions_.try_emplace(std::string(name(type.name)), id);
  if (type.kind == TypeClass::Struct) structs_.try_emplace(std::string(name(type.name)), id);
}

TypeId TypeTable::add(Type type) {
  types_.push_back(type);
  index(size() - 1);
  return size() - 1;
}

std::uint32_t TypeTable::add_name(std::string_view name) {
  if (name.empty()) return 0;
  const auto at = static_cast<std::uint32_t>(names_.size());
  names_.append(name).push_back('\0');
  return at;
}

std::uint32_t TypeTable::add_members(std::span<const Member> members) {
  const auto first = static_cast<std::uint32_t>(members_.size());
  members_.insert(members_.end(), members.begin(), members.end());
  return first;
}

std::string_view TypeTable::name(std::uint32_t at) const {
  if (at >= names_.size()) return {};
  return names_.c_str() + at;
}

std::span<const Member> TypeTable::members(const Type& type) const {
  const bool has = is_structure(type) || type.kind == TypeClass::Prototype || type.kind == TypeClass::Enum;
  if (!has || type.first > members_.size() || type.count > members_.size() - type.first) return {};
  return std::span(members_).subspan(type.first, type.count);
}

TypeId TypeTable::strip(TypeId id) const {
  for (std::size_t step = 0; step < kMaxWalk; ++step) {
    if (type(id).kind != TypeClass::Modifier) return id < types_.size() ? id : 0;
    id = type(id).target;
  }
  return 0;
}

std::optional<TypeId> TypeTable::find_function(std::string_view name) const {
  const auto found = functions_.find(std::string(name));
  return found == functions_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TypeId> TypeTable::find_struct(std::string_view name) const {
  const auto found = structs_.find(std::string(name));
  return found == structs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<FoundMember> TypeTable::find_member(TypeId structure, std::string_view wanted) const {
  struct Anonymous {
    TypeId type;
    std::uint32_t bit_offset;
  };
  std::vector<Anonymous> open = {{structure, 0}};
  for (std::size_t step = 0; step < kMaxWalk && !open.empty(); ++step) {
    const Anonymous here = open.back();
    open.pop_back();
    if (type(here.type).kind == TypeClass::Enum) continue;  // names of values
    for (const Member& member : members(type(here.type))) {
      if (member.name != 0) {
        if (name(member.name) == wanted) {
          return FoundMember{member.type, here.bit_offset + member.bit_offset, member.bit_size};
        }
        continue;
      }
      const TypeId inner = strip(member.type);
      if (is_structure(type(inner)) && open.size() < kMaxAnonymous) {
        open.push_back({inner, here.bit_offset + member.bit_offset});
      }
    }
  }
  return std::nullopt;
}

namespace {

// C's spelling of type `id` with a declarator in it, which may be empty.
std::string spell(const TypeTable& table, TypeId id, std::string declarator, std::size_t depth) {
  const Type& type = table.type(id);
  const auto named = [&](std::string_view prefix) {
    std::string text(prefix);
    const std::string_view name = table.name(type.name);
    text += name.empty() ? "{…}" : name;
    if (declarator.empty()) return text;
    return text + " " + declarator;
  };
  if (depth > kMaxTextDepth) return "…";
  switch (type.kind) {
    case TypeClass::Void:
      return declarator.empty() ? "void" : "void " + declarator;
    case TypeClass::Struct:
      return named("struct ");
    case TypeClass::Union:
      return named("union ");
    case TypeClass::Enum:
      return named("enum ");
    case TypeClass::Integer:
    case TypeClass::Float:
    case TypeClass::Other:
    case TypeClass::Function:
      return named("");
    case TypeClass::Modifier: {
      if (type.prefix == 0) return named("");
      const TypeId target = type.target;
      const std::string prefix(table.name(type.prefix));
      if (table.type(target).kind == TypeClass::Pointer) return spell(table, target, prefix + declarator, depth + 1);
      return prefix + spell(table, target, std::move(declarator), depth + 1);
    }
    case TypeClass::Pointer: {
      const TypeClass pointed = table.type(type.target).kind;
      const bool inside = pointed == TypeClass::Array || pointed == TypeClass::Prototype;
      std::string pointer = (type.is_reference ? "&" : "*") + declarator;
      return spell(table, type.target, inside ? "(" + pointer + ")" : std::move(pointer), depth + 1);
    }
    case TypeClass::Array:
      return spell(table, type.target, declarator + "[" + (type.count ? std::to_string(type.count) : "") + "]",
                   depth + 1);
    case TypeClass::Prototype: {
      std::string text = declarator + "(";
      for (const Member& parameter : table.members(type)) {
        if (!text.ends_with('(')) text += ", ";
        const bool rest = parameter.type == 0 && parameter.name == 0;
        text += rest ? "..." : spell(table, parameter.type, std::string(table.name(parameter.name)), depth + 1);
      }
      if (text.ends_with('(')) text += "void";
      return spell(table, type.target, text + ")", depth + 1);
    }
  }
  return "";
}

}  // namespace

std::string TypeTable::type_text(TypeId id) const { return spell(*this, id, "", 0); }

std::string TypeTable::prototype_text(TypeId prototype, std::string_view name) const {
  return spell(*this, prototype, std::string(name), 0);
}

}  // namespace kevt::target
