// A write(2), cut into lines.
//
// Problem: the kernel executes a write line by line, and which bytes make a line decides what is an
// error: '#' hides the rest of a line, even inside an expression; a line of more than 4094 bytes (4095
// without '\n'), or with a NUL byte, is refused before it is parsed.
// Idea: cut first, then remove the comment, except where the line will be refused anyway.
//
//   "p vfs_read # a\n\nr vfs_read"  ->  {1, "p vfs_read "} {2, ""} {3, "r vfs_read"}
//
// Mirrors trace_parse_run_command() of kernel/trace/trace.c (6.1).
#include <algorithm>

#include "grammar/parse.h"
#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_text.h"

namespace kevt::grammar {

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  int number = 1;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    const bool terminated = newline != std::string_view::npos;
    const bool refused = line.size() > kMaxLineBytes - (terminated ? 1 : 0) || line.contains('\0');
    if (!refused) {
      line = line.substr(0, line.find('#'));
    } else if (terminated) {
      line = text.substr(0, newline + 1);
    }
    lines.push_back({.text = line, .number = number++});
    if (!terminated) break;
    text.remove_prefix(newline + 1);
  }
  return lines;
}

std::uint32_t source_column(std::string_view line, std::string_view command, std::uint32_t column) {
  if (const std::size_t at = line.find(command); at != std::string_view::npos) {
    return static_cast<std::uint32_t>(at) + column;
  }
  const std::string joined = Words(line).command();
  const std::size_t at = joined.rfind(command);
  if (at == std::string::npos) return column;
  // Walk both texts: blanks in a row are one in the joined text, and those in front are none.
  std::size_t left = at + column;
  std::size_t source = 0;
  while (source < line.size() && is_blank(line[source])) ++source;
  for (; left > 0 && source < line.size(); --left) {
    const bool blank = is_blank(line[source]);
    ++source;
    while (blank && source < line.size() && is_blank(line[source])) ++source;
  }
  return static_cast<std::uint32_t>(source + left);
}

}  // namespace kevt::grammar
