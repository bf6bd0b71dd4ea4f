// Diagnostics as text: for people, and as the kernel's error_log has them.
//
//   deck.kev:3:12: error: Invalid register name   [trace_kprobe: BAD_REG_NAME]
//     p vfs_read %none_reg
//                ^
//     note: registers of x86-64: …
//
// Columns are bytes, 1-based in the first line as compilers print them. Tabs in the command are
// kept under the caret, so that it stays aligned. Mirrors tracing_log_err() of kernel/trace/trace.c (6.1).
#include <fmt/format.h>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/report.h"

namespace kevt::diag {
namespace {

constexpr std::size_t kKernelCaretIndent = 11;  // strlen("  Command: ")

std::string_view paint(Color color, std::string_view code) { return color == Color::On ? code : std::string_view(); }

// Blanks as wide as the text before the caret.
std::string padding(std::string_view command, std::uint32_t column) {
  std::string pad;
  for (std::size_t i = 0; i < column; ++i) pad += i < command.size() && command[i] == '\t' ? '\t' : ' ';
  return pad;
}

std::string origin_prefix(const Located& located) {
  std::string prefix(located.origin);
  if (located.line > 0) prefix += fmt::format(":{}", located.line);
  if (located.column) prefix += fmt::format(":{}", *located.column + 1);
  return prefix;
}

std::string tag(const Diagnostic& diagnostic) {
  const std::string_view id = kernel_id(diagnostic.kind);
  if (id.empty()) return fmt::format("[{}]", kind_name(diagnostic.kind));
  return fmt::format("[{}: {}]", location_name(diagnostic.location), id);
}

}  // namespace

std::string render_text(const Diagnostic& diagnostic, std::string_view origin, int line, Color color) {
  return render_text(Located{.diagnostic = diagnostic,
                             .origin = std::string(origin),
                             .line = line,
                             .source = diagnostic.command,
                             .column = diagnostic.column,
                             .fixits = diagnostic.fixits},
                     color);
}

std::string render_text(const Located& located, Color color) {
  const Diagnostic& diagnostic = located.diagnostic;
  const std::string_view bold = paint(color, "\x1b[1m");
  const std::string_view red = paint(color, "\x1b[1;31m");
  const std::string_view green = paint(color, "\x1b[1;32m");
  const std::string_view plain = paint(color, "\x1b[0m");
  std::string text = fmt::format("{}{}:{} {}error:{} {}", bold, origin_prefix(located), plain, red, plain,
                                 kernel_text(diagnostic.kind));
  if (!diagnostic.detail.empty()) text += fmt::format(": {}", diagnostic.detail);
  text += fmt::format("   {}\n", tag(diagnostic));
  if (!diagnostic.command.empty()) text += fmt::format("  {}\n", diagnostic.command);
  if (diagnostic.column) {
    text += fmt::format("  {}{}^{}\n", padding(diagnostic.command, *diagnostic.column), green, plain);
  }
  for (const Note& note : diagnostic.notes) text += fmt::format("  note: {}\n", note.text);
  for (const FixIt& fix : diagnostic.fixits) text += fmt::format("  fix: {}\n", fix_text(fix, diagnostic.command));
  return text;
}

std::string fix_text(const FixIt& fix, std::string_view text) {
  if (fix.begin >= fix.end) return fmt::format("insert `{}`", fix.replacement);
  const std::string_view old = fix.begin <= text.size() ? text.substr(fix.begin, fix.end - fix.begin) : "";
  if (fix.replacement.empty()) return fmt::format("remove `{}`", old);
  return fmt::format("write `{}` for `{}`", fix.replacement, old);
}

std::string render_kernel(const Diagnostic& diagnostic, std::uint64_t seconds, std::uint32_t microseconds) {
  const std::string& command = diagnostic.log ? diagnostic.log->command : diagnostic.command;
  const auto entry = [&](Kind kind, std::optional<std::uint32_t> column) {
    std::string text = fmt::format("[{:>5}.{:06}] {}: error: {}\n  Command: {}\n", seconds, microseconds,
                                   location_text(diagnostic), kernel_text(kind), command);
    if (column) text += fmt::format("{:{}}^\n", "", kKernelCaretIndent + *column);
    return text;
  };
  std::string first;
  if (diagnostic.prelude) {
    const auto replaced = diagnostic.log ? diagnostic.log->prelude_column : std::nullopt;
    first = entry(diagnostic.prelude->kind, replaced.value_or(diagnostic.prelude->column));
  }
  return first + entry(diagnostic.kind, diagnostic.log ? diagnostic.log->column : diagnostic.column);
}

}  // namespace kevt::diag
