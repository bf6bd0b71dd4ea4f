// Names and print formats of types.
//
//   u32 → "u32", "%u"      x32 → "u32", "0x%x"      string → "__data_loc char[]", "\"%s\""
//
// Mirrors the fetch type table and PRINT_TYPE_FMT of kernel/trace/trace_probe.c (6.1). Eight-byte
// numbers print as %Lu there, which readers of format files know.
#include "compiler/layout/field_type.h"

#include <fmt/format.h>

namespace kevt::layout {

bool is_string(model::TypeKind kind) {
  switch (kind) {
    case model::TypeKind::String:
    case model::TypeKind::UserString:
    case model::TypeKind::SymbolString:
      return true;
    case model::TypeKind::Unsigned:
    case model::TypeKind::Signed:
    case model::TypeKind::Enum:
    case model::TypeKind::Hex:
    case model::TypeKind::Char:
    case model::TypeKind::Float:
    case model::TypeKind::Symbol:
    case model::TypeKind::Bitfield:
      return false;
  }
  return false;
}

bool is_signed(const model::TypeSpec& type) {
  return model::is_signed_number(type.kind) || type.kind == model::TypeKind::Float || is_string(type.kind);
}

std::string field_type_name(const model::TypeSpec& type) {
  if (is_string(type.kind)) return "__data_loc char[]";
  const char letter = model::is_signed_number(type.kind) ? 's' : type.kind == model::TypeKind::Float ? 'f' : 'u';
  return fmt::format("{}{}", letter, 8 * type.bytes);
}

std::string_view print_format(const model::TypeSpec& type) {
  const bool wide = type.bytes == 8;
  switch (type.kind) {
    case model::TypeKind::Unsigned:
    case model::TypeKind::Bitfield:
      return wide ? "%Lu" : "%u";
    case model::TypeKind::Enum:
      if (type.names) return "%s";
      [[fallthrough]];
    case model::TypeKind::Signed:
      return wide ? "%Ld" : "%d";
    case model::TypeKind::Float:  // readers of format files know no such conversion: they print the bits
    case model::TypeKind::Hex:
      return wide ? "0x%Lx" : "0x%x";
    case model::TypeKind::Char:
      return "'%c'";
    case model::TypeKind::Symbol:
      return "%pS";
    case model::TypeKind::String:
    case model::TypeKind::UserString:
    case model::TypeKind::SymbolString:
      return "\\\"%s\\\"";
  }
  return "";
}

}  // namespace kevt::layout
