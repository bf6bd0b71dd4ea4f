// Colours definitions by the compiler's own tokens.
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
