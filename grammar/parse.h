// Text → model. ANTLR's types and exceptions do not leave this folder.
//
// Only the text is checked: syntax, names, limits, and everything else that does not depend on the target. Mistakes go
// to the sink with the kernel's kind and column; the result is nullopt if there was any. `dialect` says which kernel's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/trigger.h"

namespace kevt::grammar {

// The file to which the text is written; it decides which forms are accepted.
enum class EventsFile : std::uint8_t { Kprobe, Uprobe, Synthetic, Dynamic };

// One line (no '\n'). Blank and comment-only lines: nullopt and no diagnostic.
std::optional<model::Statement> parse_line(std::string_view line, EventsFile file, diag::Sink& sink,
                                           dialect::Dialect dialect = dialect::Dialect::superset());
// Does the same, but returns a definition whose kind and place could be read even if mistakes were reported, so
// that sema can add the mistakes that need the target: the kernel looks for the file and the symbol before it
// reads the event's name and the arguments, and the sink puts the kernel's first mistake first. Arguments that
// could not be read have an empty `text`. Deletions with mistakes are not returned.
std::optional<model::Statement> parse_line_leniently(std::string_view line, EventsFile file, diag::Sink& sink,
                                                     dialect::Dialect dialect = dialect::Dialect::superset());
std::optional<model::FilterExpr> parse_filter(std::string_view text, diag::Sink& sink,
                                              dialect::Dialect dialect = dialect::Dialect::superset());
std::optional<model::TriggerSpec> parse_trigger(std::string_view text, diag::Sink& sink,
                                                dialect::Dialect dialect = dialect::Dialect::superset());

// Cuts a write into lines and removes comments as trace_parse_run_command does. The last line may lack its
// '\n'. A line that the kernel would refuse unread (too long, or with a NUL byte) is kept whole,
// comment, '\n' and all: parse_line reports it.
struct Line {
  std::string_view text;
  int number = 1;  // 1-based
};
std::vector<Line> split_lines(std::string_view text);

// The byte of `line`, as it was written, that stands at `column` of `command` (Diagnostic::command: the line's words
// joined with single blanks, the line itself, or the filter in it).
std::uint32_t source_column(std::string_view line, std::string_view command, std::uint32_t column);

// Tokens as plain structs, for highlighting and completion.
enum class TokenClass : std::uint8_t { Keyword, Name, Register, Variable, Number, String, Type, Operator, Other };
struct Token {
  TokenClass kind = TokenClass::Other;
  model::Span span;
};
std::vector<Token> tokenize(std::string_view line);

}  // namespace kevt::grammar
