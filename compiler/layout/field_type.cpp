// Names and print formats of types.
//
//   u32 → "u32", "%u"      x32 → "u32", "0x%x"      string → "__data_loc char[]", "\"%s\""
//   x32[%si] → "__data_loc x32[]", "%s"
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
  const model::TypeKindRow& row = model::row_of(type.kind);
  if (!type.is_counted) return fmt::format("{}{}", row.stored, 8 * type.bytes);
  // `print fmt` does not say how items are printed, so the type does.
  return fmt::format("__data_loc {}{}[]", row.word.size() == 1 ? row.word[0] : row.stored, 8 * type.bytes);
}

std::string_view print_format(const model::TypeSpec& type) {
  if (type.names || type.is_counted) return "%s";
  const model::TypeKindRow& row = model::row_of(type.kind);
  return type.bytes == 8 ? row.wide_print : row.print;
}

}  // namespace kevt::layout
