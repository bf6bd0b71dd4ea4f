// Highlighting by grammar::tokenize(): a word is coloured as a register if the compiler takes it for one.
#include "gui/view/definition_highlighter.h"

#include <QGuiApplication>

#include "grammar/parse.h"
#include "gui/view/theme.h"

namespace kevt::gui {
namespace {

QTextCharFormat format_of(grammar::TokenClass kind, const LaneColors& colors) {
  QTextCharFormat format;
  switch (kind) {
    case grammar::TokenClass::Keyword:
      format.setForeground(colors.events[0]);
      format.setFontWeight(QFont::DemiBold);
      break;
    case grammar::TokenClass::Register:
      format.setForeground(colors.events[1]);
      break;
    case grammar::TokenClass::Variable:
      format.setForeground(colors.events[3]);
      break;
    case grammar::TokenClass::Number:
      format.setForeground(colors.events[4]);
      break;
    case grammar::TokenClass::String:
      format.setForeground(colors.events[2]);
      break;
    case grammar::TokenClass::Type:
      format.setForeground(colors.events[6]);
      break;
    case grammar::TokenClass::Operator:
      format.setForeground(colors.faint);
      break;
    case grammar::TokenClass::Name:
    case grammar::TokenClass::Other:
      format.setForeground(colors.text);
      break;
  }
  return format;
}

}  // namespace

void DefinitionHighlighter::highlightBlock(const QString& text) {
  const LaneColors colors(QGuiApplication::palette());
  const qsizetype comment = text.trimmed().startsWith(QLatin1Char('#')) ? 0 : text.indexOf(QLatin1String(" #"));
  const QByteArray line = (comment < 0 ? text : text.left(comment)).toUtf8();
  const auto column = [&](std::uint32_t byte) {
    return static_cast<int>(QString::fromUtf8(line.left(static_cast<qsizetype>(byte))).size());
  };
  for (const grammar::Token& token :
       grammar::tokenize(std::string_view(line.constData(), static_cast<std::size_t>(line.size()))))
    setFormat(column(token.span.begin), column(token.span.end) - column(token.span.begin),
              format_of(token.kind, colors));
  if (comment < 0) return;
  QTextCharFormat format;
  format.setForeground(colors.faint);
  format.setFontItalic(true);
  setFormat(static_cast<int>(comment), static_cast<int>(text.size() - comment), format);
}

}  // namespace kevt::gui
