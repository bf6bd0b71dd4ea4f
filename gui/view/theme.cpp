// Light and dark. The event colours are the set of Okabe and Ito, darkened or lightened for each background; labels and
// tool tips say the same in words.
#include "gui/view/theme.h"

#include <QApplication>
#include <QStyleFactory>

namespace kevt::gui {
namespace {

QPalette lightPalette() {
  QPalette p(QColor(0xf3, 0xf4, 0xf6));
  p.setColor(QPalette::Window, QColor(0xf3, 0xf4, 0xf6));
  p.setColor(QPalette::WindowText, QColor(0x1c, 0x20, 0x26));
  p.setColor(QPalette::Base, QColor(0xff, 0xff, 0xff));
  p.setColor(QPalette::AlternateBase, QColor(0xf7, 0xf8, 0xfa));
  p.setColor(QPalette::Text, QColor(0x1c, 0x20, 0x26));
  p.setColor(QPalette::Button, QColor(0xe9, 0xeb, 0xef));
  p.setColor(QPalette::ButtonText, QColor(0x1c, 0x20, 0x26));
  p.setColor(QPalette::Highlight, QColor(0x1f, 0x6f, 0xc4));
  p.setColor(QPalette::HighlightedText, Qt::white);
  p.setColor(QPalette::Mid, QColor(0xc4, 0xc9, 0xd1));
  p.setColor(QPalette::PlaceholderText, QColor(0x79, 0x82, 0x8e));
  p.setColor(QPalette::ToolTipBase, QColor(0xff, 0xff, 0xff));
  p.setColor(QPalette::ToolTipText, QColor(0x1c, 0x20, 0x26));
  p.setColor(QPalette::Link, QColor(0x1f, 0x6f, 0xc4));
  return p;
}

QPalette darkPalette() {
  QPalette p(QColor(0x23, 0x27, 0x2e));
  p.setColor(QPalette::Window, QColor(0x1f, 0x23, 0x29));
  p.setColor(QPalette::WindowText, QColor(0xe2, 0xe6, 0xeb));
  p.setColor(QPalette::Base, QColor(0x16, 0x19, 0x1e));
  p.setColor(QPalette::AlternateBase, QColor(0x1b, 0x1f, 0x25));
  p.setColor(QPalette::Text, QColor(0xe2, 0xe6, 0xeb));
  p.setColor(QPalette::Button, QColor(0x2c, 0x31, 0x39));
  p.setColor(QPalette::ButtonText, QColor(0xe2, 0xe6, 0xeb));
  p.setColor(QPalette::Highlight, QColor(0x3a, 0x8d, 0xde));
  p.setColor(QPalette::HighlightedText, Qt::white);
  p.setColor(QPalette::Mid, QColor(0x3b, 0x42, 0x4c));
  p.setColor(QPalette::PlaceholderText, QColor(0x8a, 0x93, 0xa0));
  p.setColor(QPalette::ToolTipBase, QColor(0x2c, 0x31, 0x39));
  p.setColor(QPalette::ToolTipText, QColor(0xe2, 0xe6, 0xeb));
  p.setColor(QPalette::Link, QColor(0x62, 0xb0, 0xf5));
  return p;
}

void disableLooks(QPalette& p) {
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, p.color(QPalette::PlaceholderText));
}

}  // namespace

QColor mixed(const QColor& a, const QColor& b, double part) {
  return QColor::fromRgbF(static_cast<float>(a.redF() + (b.redF() - a.redF()) * part),
                          static_cast<float>(a.greenF() + (b.greenF() - a.greenF()) * part),
                          static_cast<float>(a.blueF() + (b.blueF() - a.blueF()) * part));
}

void applyTheme(ThemeChoice choice) {
  if (choice == ThemeChoice::System) return;
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QPalette palette = choice == ThemeChoice::Dark ? darkPalette() : lightPalette();
  disableLooks(palette);
  QApplication::setPalette(palette);
}

bool isDark(const QPalette& palette) {
  return palette.color(QPalette::Window).lightnessF() < palette.color(QPalette::WindowText).lightnessF();
}

LaneColors::LaneColors(const QPalette& palette) {
  const bool dark = isDark(palette);
  static constexpr std::array<unsigned, 8> kLight = {0x0072b2, 0xd55e00, 0x009e73, 0xb0568f,
                                                     0xb8860b, 0x3d8fc9, 0x6a51a3, 0x5b6770};
  static constexpr std::array<unsigned, 8> kDark = {0x56a9e8, 0xf0894a, 0x3fc79a, 0xdb8fc0,
                                                    0xe3bc4a, 0x8fd0f5, 0xa996e0, 0x9fb0bd};
  for (std::size_t i = 0; i < events.size(); ++i) events[i] = QColor::fromRgb((dark ? kDark : kLight)[i]);
  background = palette.color(QPalette::Base);
  band = palette.color(QPalette::AlternateBase);
  text = palette.color(QPalette::Text);
  line = mixed(background, text, 0.12);
  track = mixed(background, text, 0.07);
  faint = mixed(background, text, 0.55);
  density = mixed(background, text, dark ? 0.62 : 0.55);
  accent = palette.color(QPalette::Highlight);
  gap = dark ? QColor(0xff, 0x6b, 0x5e) : QColor(0xc0, 0x28, 0x1c);
  marker = dark ? QColor(0xff, 0xc8, 0x57) : QColor(0xa8, 0x62, 0x00);
  selection = accent;
  selection.setAlpha(52);
}

QBrush LaneColors::overlay(std::uint32_t index) const {
  static constexpr std::array kPatterns = {Qt::NoBrush,          Qt::BDiagPattern, Qt::FDiagPattern,  Qt::HorPattern,
                                           Qt::DiagCrossPattern, Qt::VerPattern,   Qt::Dense6Pattern, Qt::CrossPattern};
  const Qt::BrushStyle style = kPatterns[index % kPatterns.size()];
  if (!has_patterns || style == Qt::NoBrush) return Qt::NoBrush;
  QColor color = background;
  color.setAlpha(170);
  return {color, style};
}

}  // namespace kevt::gui
