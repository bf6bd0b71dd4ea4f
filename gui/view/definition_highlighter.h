// Colours of definitions: the tokens are the compiler's own.
#pragma once

#include <QSyntaxHighlighter>

namespace kevt::gui {

class DefinitionHighlighter : public QSyntaxHighlighter {
 public:
  explicit DefinitionHighlighter(QTextDocument* document) : QSyntaxHighlighter(document) {}

 protected:
  void highlightBlock(const QString& text) override;
};

}  // namespace kevt::gui
