// What can stand at a place of a definition.
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

// `column`: the cursor's place in the line. Functions come from `symbols`, which may be empty; names of arguments and
// members of structures from the types that `env` knows (nullptr: nobody does).
Completion completeDefinition(const QString& line, int column, const SymbolIndex& symbols,
                              const target::TargetEnv* env = nullptr);
// Fields and functions of a filter.
Completion completeFilter(const QString& text, int column, const std::vector<QString>& fields);

}  // namespace kevt::gui
