// Completions at the cursor (compiler/author) of Qt's texts.
#pragma once

#include <QString>
#include <vector>

#include "compiler/author/symbol_index.h"
#include "compiler/target/target_env.h"

namespace kevt::gui {

struct Suggestion {
  QString text;  // replaces [Completion::begin, the cursor)
  QString note;
};
struct Completion {
  int begin = 0;
  std::vector<Suggestion> suggestions;
};

// `column`: the cursor's position in the line. Functions come from `symbols`, which may be empty; argument names and
// structure members come from the types of `env` (nullptr: no types).
Completion completeDefinition(const QString& line, int column, const author::SymbolIndex& symbols,
                              const target::TargetEnv* env = nullptr);
// Completes fields in a filter.
Completion completeFilter(const QString& text, int column, const std::vector<QString>& fields);

}  // namespace kevt::gui
