// Objects of C++, Rust and Go that are a text: where they keep its address, and its length.
//
//   std::string        a NUL ends it (libstdc++, bits/basic_string.h)
//   std::string_view   `_M_len`, `_M_str` (libstdc++, std/string_view)
//   &str, String       `data_ptr` and `length`; `vec` (rustc)          string   `str`, `len` (Go)
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/target/types/type_table.h"

namespace kevt::sema {

// Bytes from the object's beginning.
struct TextObject {
  std::uint32_t address = 0;
  std::optional<std::uint32_t> length;  // a word; nullopt: a NUL ends the text
};

// nullopt: the type is none.
std::optional<TextObject> text_object(const target::TypeTable& table, target::TypeId type);

}  // namespace kevt::sema
