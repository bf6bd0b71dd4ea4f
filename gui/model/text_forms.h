// Text of ours in Qt's form.
#pragma once

#include <QString>
#include <QTextDocument>
#include <string_view>

namespace kevt::gui {

inline QString fromUtf8(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// For what shows rich text where it takes a text for such: tool tips. All of it is seen as it is written.
inline QString plainTip(const QString& text) { return text.isEmpty() ? text : Qt::convertFromPlainText(text); }

// As one word for a shell.
inline QString shellQuoted(QString text) {
  return QLatin1Char('\'') + text.replace(QLatin1String("'"), QLatin1String("'\\''")) + QLatin1Char('\'');
}

}  // namespace kevt::gui
