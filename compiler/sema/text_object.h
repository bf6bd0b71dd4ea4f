// String objects of C++, Rust and Go: where they keep the address of their text, and its length.
//
//   std::string        a NUL ends it (libstdc++, bits/basic_string.h)
//   std::string_view   `_M_len`, `_M_str` (libstdc++, std/string_view)
//   &str, String       `data_ptr` and `length`; `vec` (rustc)          string   `str`, `len` (Go)
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/target/types/type_table.h"

namespace kevt::sema {

// Where a string object keeps two words: offsets in bytes from the object's beginning.
struct TextObject {
  std::uint32_t address = 0;
  std::optional<std::uint32_t> length;  // nullopt: there is no length, a NUL ends the text
};

// nullopt: the type is no known string object.
std::optional<TextObject> text_object(const target::TypeTable& table, target::TypeId type);

}  // namespace kevt::sema
