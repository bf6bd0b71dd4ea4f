// What is traced may be a formula, and a table is opened by somebody else on another machine:
//
//   =HYPERLINK("http://…")   →   "'=HYPERLINK(""http://…"")"         -5 of a number   →   -5
#include "tracefs-compat/record/formats/csv_text.h"

namespace kevt::record {

void append_csv_cell(std::string_view text, CellKind kind, Controls controls, std::string& out) {
  const bool is_formula =
      kind == CellKind::Text && !text.empty() && std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos;
  if (!is_formula && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    const std::size_t begin = out.size();
    out += text;
    return escape_from(begin, controls, out);
  }
  out += is_formula ? "\"'" : "\"";
  const std::size_t begin = out.size();
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  escape_from(begin, controls, out);
  out += '"';
}

}  // namespace kevt::record
