// Objects of C++, Rust and Go that keep a list of items elsewhere: where they keep its address, and how long it is.
//
//   std::vector        `_M_start`, `_M_finish`: the end, no number (libstdc++, bits/stl_vector.h)
//   std::span          `_M_ptr`, `_M_extent_value` (libstdc++, std/span)
//   &[T], Vec          `data_ptr` and `length`; `buf` and `len` (rustc)          []T   `array`, `len` (Go)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/model/definition.h"
#include "compiler/target/types/type_table.h"

namespace kevt::sema {

struct ListObject {
  std::uint32_t address = 0, length = 0;  // where the two words are: offsets in bytes from the object's beginning
  bool is_end = false;                    // `length` is the address behind the last item
  model::TypeSpec type;                   // of the list, counted
};

// nullopt: the type is no known list, or its items are no numbers of 1, 2, 4 or 8 bytes.
std::optional<ListObject> list_object(const target::TypeTable& table, target::TypeId type);

// Of a std::array, the array that is its only member.
std::optional<target::TypeId> array_in(const target::TypeTable& table, target::TypeId type);

// What the path of members leads to, e.g. `vec.len`, and its distance in bytes from the structure's beginning. A member
// with a '?' may be missing, as in older libraries. nullopt: another one is not there.
struct MemberOfPath {
  target::TypeId type = 0;
  std::uint32_t offset = 0;
};
std::optional<MemberOfPath> member_of_path(const target::TypeTable& table, target::TypeId structure,
                                           std::string_view path);

}  // namespace kevt::sema
