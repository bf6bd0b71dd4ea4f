#include "gui/model/completion.h"

#include <string>

#include "compiler/author/completion.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {
namespace {

// A text in UTF-8 and the cursor's byte in it.
struct Utf8 {
  std::string text;
  std::size_t cursor = 0;
};

Utf8 in_utf8(const QString& text, int column) { return {text.toStdString(), text.left(column).toStdString().size()}; }

Completion for_qt(const author::Completion& found, const Utf8& of) {
  Completion out{.begin = static_cast<int>(fromUtf8(of.text.substr(0, found.begin)).size()), .suggestions = {}};
  for (const author::Suggestion& one : found.suggestions)
    out.suggestions.push_back({fromUtf8(one.text), fromUtf8(one.note)});
  return out;
}

}  // namespace

Completion completeDefinition(const QString& line, int column, const author::SymbolIndex& symbols,
                              const target::TargetEnv* env) {
  const Utf8 written = in_utf8(line, column);
  return for_qt(author::complete_definition(written.text, written.cursor, symbols, env), written);
}

Completion completeFilter(const QString& text, int column, const std::vector<QString>& fields) {
  std::vector<std::string> names;
  for (const QString& field : fields) names.push_back(field.toStdString());
  const Utf8 written = in_utf8(text, column);
  return for_qt(author::complete_filter(written.text, written.cursor, names), written);
}

}  // namespace kevt::gui
