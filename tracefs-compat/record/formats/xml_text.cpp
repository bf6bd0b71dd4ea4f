#include "tracefs-compat/record/formats/xml_text.h"

#include <algorithm>

#include "common/controls.h"

namespace kevt::record {

std::string take_xml_character(std::string_view& text) {
  char32_t code = 0;
  const std::size_t length = decode_utf8(text, code);
  const std::string_view bytes = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(bytes.size());
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (length == 0 || is_surrogate || code == 0xfffe || code == 0xffff) return "\xef\xbf\xbd";
  if (code == '<') return "&lt;";
  if (code == '>') return "&gt;";
  if (code == '&') return "&amp;";
  if (code == '"') return "&quot;";
  return is_control(code) ? "?" : std::string(bytes);
}

std::string as_xml(std::string_view text) {
  std::string out;
  while (!text.empty()) out += take_xml_character(text);
  return out;
}

}  // namespace kevt::record
