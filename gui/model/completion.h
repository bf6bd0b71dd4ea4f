// Completions at the cursor in a definition.
#pragma once

#include <QString>
#include <vector>

#include "compiler/target/target_env.h"
#include "gui/model/symbol_index.h"

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
Completion completeDefinition(const QString& line, int column, const SymbolIndex& symbols,
                              const target::TargetEnv* env = nullptr);
// Completes fields and functions in a filter.
Completion completeFilter(const QString& text, int column, const std::vector<QString>& fields);

}  // namespace kevt::gui
