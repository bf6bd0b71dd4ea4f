// Valid JSON whatever the bytes: control characters are escaped, bytes that are no UTF-8 replaced.
#include "tracefs-compat/record/formats/json_text.h"

#include <fmt/format.h>

#include <cmath>

#include "common/controls.h"
#include "common/hexadecimal.h"

namespace kevt::record {
namespace {

void append_one(const Value& value, std::string& out) {
  switch (value.kind) {
    case Value::Kind::Absent:
      out += "null";
      return;
    case Value::Kind::Unsigned:
    case Value::Kind::Signed:
      return append_plain(value, out);
    case Value::Kind::Float:  // JSON has no infinity, and nothing that is no number
      if (std::isfinite(as_double(value))) {
        append_plain(value, out);
        if (out.ends_with("-0") && as_double(value) == 0) out += ".0";  // an integer has no such zero
        return;
      }
      out += '"';
      append_plain(value, out);
      out += '"';
      return;
    case Value::Kind::Text:
      append_json_string(value.text, out);
  }
}

}  // namespace

bool append_json_string(std::string_view text, std::string& out) {
  bool is_exact = true;
  out += '"';
  while (!text.empty()) {
    const char c = text[0];
    char32_t code = 0;
    const std::size_t length = decode_utf8(text, code);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      is_exact = false;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (is_control(code)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(code));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
  return is_exact;
}

void append_json_value(const Field& field, std::span<const std::uint8_t> record, std::string& out) {
  switch (field.is_hex ? FieldKind::DynamicBytes : field.kind) {
    case FieldKind::Number:
    case FieldKind::Text:
    case FieldKind::DynamicText:
      return append_one(value_of(field, record), out);
    case FieldKind::Numbers:
    case FieldKind::DynamicTexts:
    case FieldKind::DynamicNumbers:
      out += '[';
      for (std::uint32_t i = 0, items = items_of(field, record); i < items; ++i) {
        if (i) out += ',';
        append_one(value_of(field, record, i), out);
      }
      out += ']';
      return;
    case FieldKind::DynamicBytes:
      out += '"';
      append_hexadecimal(dynamic_bytes(field, record), out);
      out += '"';
      return;
  }
}

}  // namespace kevt::record
