// Colours: those of the palette, and a set for events that colour-blind people can tell apart, for light and dark
// themes.
#pragma once

#include <QBrush>
#include <QColor>
#include <QPalette>
#include <array>

namespace kevt::gui {

enum class ThemeChoice { System, Light, Dark };
// Sets the application's palette (and style); System leaves both as they are.
void applyTheme(ThemeChoice choice);

// Judges by the palette's window colour, since Debian's Qt 6.4 cannot be asked for the colour scheme.
bool isDark(const QPalette& palette);

// `part` 0: `a`; 1: `b`.
QColor mixed(const QColor& a, const QColor& b, double part);

struct LaneColors {
  explicit LaneColors(const QPalette& palette);
  QColor event(std::uint32_t index) const { return events[index % events.size()]; }
  // A pattern laid over the colour if patterns are on, so that events differ in more than colour; else NoBrush.
  QBrush overlay(std::uint32_t index) const;

  std::array<QColor, 8> events;
  bool has_patterns = false;
  QColor background, band, line, text, faint, density, accent, gap, marker, selection;
  QColor track;  // background of a bar that a share fills
};

}  // namespace kevt::gui
