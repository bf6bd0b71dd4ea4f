// Conversions of text for Qt and for shells.
#pragma once

#include <QString>
#include <QTextDocument>
#include <string_view>

namespace kevt::gui {

inline QString fromUtf8(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// For tool tips, which may take a text for rich text: escapes it, so that it is shown as it is.
inline QString plainTip(const QString& text) { return text.isEmpty() ? text : Qt::convertFromPlainText(text); }

// Quotes a text as one word of a shell.
inline QString shellQuoted(QString text) {
  return QLatin1Char('\'') + text.replace(QLatin1String("'"), QLatin1String("'\\''")) + QLatin1Char('\'');
}

}  // namespace kevt::gui
