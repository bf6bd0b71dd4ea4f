// Synthetic events: sizes and formats of their types (docs/language.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/model/definition.h"

namespace kevt::layout {

// Whether a field of a synthetic event may have this type of one number.
bool is_synthetic_scalar(std::string_view type);
bool is_synthetic_text(const model::SyntheticField& field);   // char[…]
bool is_synthetic_stack(const model::SyntheticField& field);  // long[…]
// Whether the field's bytes lie behind the fixed part of the record.
bool is_synthetic_dynamic(const model::SyntheticField& field);
std::uint32_t synthetic_size(const model::SyntheticField& field);  // as the format file says
std::uint32_t synthetic_slot(const model::SyntheticField& field);  // bytes that the field takes in the record
bool is_synthetic_signed(const model::SyntheticField& field);
std::string_view synthetic_format(const model::SyntheticField& field);  // "%u"

}  // namespace kevt::layout
