// Event scripts (*.kev): text → model::Script, line by line. docs/scripts.md has the grammar.
//
// The texts of definitions, filters and triggers are not parsed here: parse.h has their parsers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/script.h"

namespace kevt::grammar {

struct ScriptMistake {
  int line = 1;  // 1-based
  diag::Diagnostic diagnostic;
};

// Reads all lines; mistakes, at most one a line, are appended in the order of lines. Lines with a mistake stay in
// Script::lines and have no effect.
model::Script parse_script(std::string_view text, std::vector<ScriptMistake>& mistakes);

// A mistake in one line of a script; `column` is a byte of `line`.
diag::Diagnostic script_mistake(diag::Kind kind, std::string_view line, std::size_t column, std::string detail);

// Words separated by blanks, with '…', "…" and \ as in a shell.
struct QuotedWords {
  std::vector<std::string> words;
  std::optional<std::size_t> open_quote;  // column of a quote that is not closed
};
QuotedWords split_quoted(std::string_view text);

// Filters and triggers have no escapes; words of a shell have.
enum class Escapes : std::uint8_t { None, Backslash };
// `text` with single blanks outside quotes, and no blanks at the beginning and end.
std::string squeeze_blanks(std::string_view text, Escapes escapes);

}  // namespace kevt::grammar
