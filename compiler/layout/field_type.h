// Names and print formats of types, in format files and trace lines (docs/language.md).
#pragma once

#include <string>
#include <string_view>

#include "compiler/model/definition.h"

namespace kevt::layout {

bool is_string(model::TypeKind kind);
bool is_signed(const model::TypeSpec& type);                 // as the format file says
std::string field_type_name(const model::TypeSpec& type);    // "u32", "__data_loc char[]"
std::string_view print_format(const model::TypeSpec& type);  // "%u", "\\\"%s\\\""

}  // namespace kevt::layout
