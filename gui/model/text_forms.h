// Text of ours in Qt's form.
#pragma once

#include <QString>
#include <string_view>

namespace kevt::gui {

inline QString fromUtf8(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// As one word for a shell.
inline QString shellQuoted(QString text) {
  return QLatin1Char('\'') + text.replace(QLatin1String("'"), QLatin1String("'\\''")) + QLatin1Char('\'');
}

}  // namespace kevt::gui
