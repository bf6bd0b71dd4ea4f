// How the definition parser reports mistakes: kind, word, column in the word, and when the kernel finds the mistake.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include "compiler/diag/definition_order.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/definition.h"
#include "grammar/parse_definition_text.h"

namespace kevt::grammar {

struct Mistake {
  diag::Kind kind;
  std::size_t word = 0;      // index; behind the last word: the caret stands behind the line
  std::uint32_t column = 0;  // bytes into the word
  std::uint32_t order = 0;   // see diag/definition_order.h
  int errno_value = EINVAL;
  bool logged = true;
  std::optional<diag::Prelude> prelude;  // with a column in the word, too
};

// One definition being parsed.
struct LineContext {
  const Words& words;
  model::EventKind kind;
  model::ProbeKind probe_kind;
  diag::Location location;
  diag::Sink& sink;
  dialect::Dialect dialect;

  void report(const Mistake& mistake) const;
  model::Span word_span(std::size_t word) const;
};

}  // namespace kevt::grammar
