// The texts behind the words `target` and `option` of an event script.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/script.h"

namespace kevt::grammar {

struct ValueMistake {
  diag::Kind kind;
  std::size_t column = 0;  // in the parsed text
  std::string detail;
};

std::expected<model::ScriptTarget, ValueMistake> parse_target(std::string_view text);
// Parses NAME VALUE and sets that option. An option that is set already is a mistake.
std::expected<void, ValueMistake> parse_option(std::string_view text, model::ScriptOptions& options);

}  // namespace kevt::grammar
