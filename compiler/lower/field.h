// Record fields: type and array of an argument → the stores that write it, and what a filter reads of it.
#pragma once

#include <variant>
#include <vector>

#include "compiler/lower/fetch.h"
#include "compiler/model/record_layout.h"

namespace kevt::lower {

// What a filter can compare of a field; it is the value that is stored.
struct IntegerField {
  ir::ValueId value = 0;
};
struct TextField {
  ir::ValueId value = 0;
};
// An array of at most 8 bytes: compared as one little-endian integer of all its items.
struct PackedField {
  std::vector<ir::ValueId> items;  // zero-extended, lowest first
  std::uint8_t item_bytes = 1;
};
struct OpaqueField {};  // nothing: longer arrays, arrays of strings
using FieldValue = std::variant<IntegerField, TextField, PackedField, OpaqueField>;

struct LoweredField {
  FieldValue value;
  std::vector<ir::Store> stores;  // none for address fields, which every record has
};
LoweredField lower_field(const model::Definition& definition, const model::RecordField& field, ValueTable& values);

}  // namespace kevt::lower
