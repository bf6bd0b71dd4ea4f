#include "tracefs-compat/record/histogram_object.h"

#include <nlohmann/json.hpp>

namespace kevt::record {
namespace {

constexpr int kMostLevels = 32;

// Before a parser sees it, which may have a level of its own stack for each of the text's.
bool is_flat_line(std::string_view text) {
  int levels = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x20) return false;
    if (in_string) {
      if (c == '\\') ++at;  // and what it escapes, which accept() looks at
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++levels > kMostLevels) return false;
    } else if (c == '}' || c == ']') {
      --levels;
    }
  }
  return true;
}

}  // namespace

bool is_histogram_object(std::string_view text) {
  return text.starts_with('{') && text.size() <= kMostHistogramBytes && is_flat_line(text) &&
         nlohmann::json::accept(text);
}

}  // namespace kevt::record
