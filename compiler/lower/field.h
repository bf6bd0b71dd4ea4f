// Record fields: the type of an argument → the stores that write the field, and the value that a filter reads.
#pragma once

#include <variant>
#include <vector>

#include "compiler/lower/fetch.h"
#include "compiler/model/record_layout.h"

namespace kevt::lower {

// What a filter compares of a field: the values that are stored.
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
struct OpaqueField {};  // cannot be compared: longer arrays, arrays of strings
using FieldValue = std::variant<IntegerField, TextField, PackedField, OpaqueField>;

struct LoweredField {
  FieldValue value;
  std::vector<ir::Store> stores;  // none for address fields, which every record has
};
LoweredField lower_field(const model::Definition& definition, const model::RecordField& field, ValueTable& values);

}  // namespace kevt::lower
