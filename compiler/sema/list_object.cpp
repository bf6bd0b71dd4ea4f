// Both the name and the members of a type must fit: a program's own type `vector` has other members.
#include "compiler/sema/list_object.h"

#include <algorithm>
#include <charconv>

#include "grammar/parse_definition_limits.h"

namespace kevt::sema {

namespace {

using model::TypeKind;
using target::TypeClass;

// Paths of members (member_of_path).
struct KnownList {
  std::string_view name;  // the beginning of the type's name
  std::string_view address, length;
  bool is_end = false;
};

constexpr KnownList kLists[] = {
    {"vector<", "_M_impl._M_start", "_M_impl._M_finish", true},
    {"span<", "_M_ptr", "_M_extent._M_extent_value"},
    {"initializer_list<", "_M_array", "_M_len"},
    {"&[", "data_ptr", "length"},
    {"&mut [", "data_ptr", "length"},
    {"Vec<", "buf.?inner.ptr.?pointer.?pointer", "len"},
    {"[]", "array", "len"},
};

bool is_item_size(std::uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

std::optional<model::TypeSpec> type_of_items(const target::Type& item) {
  if (!is_item_size(item.kind == TypeClass::Pointer ? 8 : item.bytes)) return std::nullopt;
  model::TypeSpec type{.bytes = static_cast<std::uint8_t>(item.bytes)};
  switch (item.kind) {
    case TypeClass::Integer:
      type.kind = item.is_signed ? TypeKind::Signed : TypeKind::Unsigned;
      return type;
    case TypeClass::Enum:
      type.kind = item.is_signed ? TypeKind::Signed : TypeKind::Unsigned;  // as it is declared: std::byte is a byte
      return type;
    case TypeClass::Float:
      type.kind = TypeKind::Float;
      return type;
    case TypeClass::Pointer:
      return model::TypeSpec{};
    default:
      return std::nullopt;
  }
}

// `i32` of `Vec<i32, alloc::alloc::Global>`: newer versions of Rust keep a list of bytes, whatever the items are.
std::optional<model::TypeSpec> type_in_name(std::string_view name) {
  name.remove_prefix(name.find('<') + 1);
  name = name.substr(0, name.find_first_of(",>"));
  if (name == "usize") return model::TypeSpec{.kind = TypeKind::Unsigned};
  if (name == "isize") return model::TypeSpec{.kind = TypeKind::Signed};
  unsigned bits = 0;
  const auto [end, error] =
      std::from_chars(name.data() + std::min<std::size_t>(1, name.size()), name.data() + name.size(), bits);
  if (error != std::errc() || end != name.data() + name.size() || bits % 8 != 0 || !is_item_size(bits / 8))
    return std::nullopt;
  model::TypeSpec type{.bytes = static_cast<std::uint8_t>(bits / 8)};
  switch (name[0]) {
    case 'i':
      type.kind = TypeKind::Signed;
      return type;
    case 'u':
      type.kind = TypeKind::Unsigned;
      return type;
    case 'f':
      type.kind = TypeKind::Float;
      return type;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<MemberOfPath> member_of_path(const target::TypeTable& table, target::TypeId structure,
                                           std::string_view path) {
  MemberOfPath at{.type = structure};
  std::uint32_t bits = 0;
  while (!path.empty()) {
    std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    const bool is_optional = name.starts_with('?');
    name.remove_prefix(is_optional ? 1 : 0);
    const auto member = table.find_member(at.type, name);
    if (!member && is_optional) continue;
    if (!member) return std::nullopt;
    bits += member->bit_offset;
    at.type = table.strip(member->type);
  }
  at.offset = bits / 8;
  return at;
}

std::optional<target::TypeId> array_in(const target::TypeTable& table, target::TypeId type) {
  const target::TypeId id = table.strip(type);
  if (!table.name(table.type(id).name).starts_with("array<")) return std::nullopt;
  const auto items = member_of_path(table, id, "_M_elems");
  const bool is_array = items && items->offset == 0 && table.type(items->type).kind == TypeClass::Array;
  return is_array ? std::optional(items->type) : std::nullopt;
}

std::optional<ListObject> list_object(const target::TypeTable& table, target::TypeId type) {
  const target::TypeId id = table.strip(type);
  if (table.type(id).kind != TypeClass::Struct) return std::nullopt;
  const std::string_view name = table.name(table.type(id).name);
  for (const KnownList& known : kLists) {
    if (!name.starts_with(known.name)) continue;
    const auto address = member_of_path(table, id, known.address), length = member_of_path(table, id, known.length);
    if (!address || !length) continue;
    const target::Type& pointer = table.type(address->type);
    auto items = known.name == "Vec<"                 ? type_in_name(name)
                 : pointer.kind == TypeClass::Pointer ? type_of_items(table.type(table.strip(pointer.target)))
                                                      : std::nullopt;
    if (!items) return std::nullopt;
    items->is_counted = true;
    items->array_count = grammar::kMaxArrayItems;
    return ListObject{.address = address->offset, .length = length->offset, .is_end = known.is_end, .type = *items};
  }
  return std::nullopt;
}

}  // namespace kevt::sema
