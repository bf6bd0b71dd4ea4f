// Both the name and the members of a type must fit: a program's own type `string` has other members.
#include "compiler/sema/text_object.h"

#include <string_view>

#include "compiler/sema/list_object.h"

namespace kevt::sema {

namespace {

// Paths of members (member_of_path).
struct KnownText {
  std::string_view name;  // the type's name; of a template only its beginning
  bool is_template;
  std::string_view address, length;
};

constexpr KnownText kTexts[] = {
    {"basic_string_view<char,", true, "_M_str", "_M_len"},
    {"&str", false, "data_ptr", "length"},
    {"String", false, "vec.buf.?inner.ptr.?pointer.?pointer", "vec.len"},
    {"string", false, "str", "len"},
};

std::optional<std::uint32_t> bytes_to(const target::TypeTable& table, target::TypeId structure, std::string_view path) {
  const auto found = member_of_path(table, structure, path);
  return found ? std::optional(found->offset) : std::nullopt;
}

}  // namespace

std::optional<TextObject> text_object(const target::TypeTable& table, target::TypeId type) {
  const target::TypeId id = table.strip(type);
  if (table.type(id).kind != target::TypeClass::Struct) return std::nullopt;
  const std::string_view name = table.name(table.type(id).name);
  if (name.starts_with("basic_string<char,")) {
    const auto address = bytes_to(table, id, "_M_dataplus._M_p");
    if (!address) return std::nullopt;
    return TextObject{.address = *address, .length = std::nullopt};
  }
  for (const KnownText& known : kTexts) {
    if (known.is_template ? !name.starts_with(known.name) : name != known.name) continue;
    const auto address = bytes_to(table, id, known.address);
    const auto length = bytes_to(table, id, known.length);
    if (address && length) return TextObject{.address = *address, .length = length};
  }
  return std::nullopt;
}

}  // namespace kevt::sema
