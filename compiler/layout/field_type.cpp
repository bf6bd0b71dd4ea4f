// Names and print formats of types.
//
//   u32 → "u32", "%u"      x32 → "u32", "0x%x"      string → "__data_loc char[]", "\"%s\""
//
// Mirrors the fetch type table and PRINT_TYPE_FMT of kernel/trace/trace_probe.c (6.1). Eight-byte
// numbers print as %Lu there, which readers of format files know.
#include "compiler/layout/field_type.h"

#include <fmt/format.h>

namespace kevt::layout {

bool is_string(model::TypeKind kind) { return model::row_of(kind).stored == 't'; }

// The data_loc word of a text counts as signed.
bool is_signed(const model::TypeSpec& type) { return model::row_of(type.kind).stored != 'u'; }

std::string field_type_name(const model::TypeSpec& type) {
  if (is_string(type.kind)) return "__data_loc char[]";
  return fmt::format("{}{}", model::row_of(type.kind).stored, 8 * type.bytes);
}

std::string_view print_format(const model::TypeSpec& type) {
  if (type.names) return "%s";
  const model::TypeKindRow& row = model::row_of(type.kind);
  return type.bytes == 8 ? row.wide_print : row.print;
}

}  // namespace kevt::layout
