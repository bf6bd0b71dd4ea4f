// Colours: all from the palette, and a set for events that people with colour-blindness tell apart, in two lightnesses.
#pragma once

#include <QBrush>
#include <QColor>
#include <QPalette>
#include <array>

namespace kevt::gui {

enum class ThemeChoice { System, Light, Dark };
// Sets the application's palette (and style); System leaves both as they are.
void applyTheme(ThemeChoice choice);

// Lightness of the palette's window: Debian's Qt 6.4 has no colour scheme to ask for.
bool isDark(const QPalette& palette);

struct LaneColors {
  explicit LaneColors(const QPalette& palette);
  QColor event(std::uint32_t index) const { return events[index % events.size()]; }
  // Laid over the colour when patterns are on, so that colour is not the only thing that differs; else NoBrush.
  QBrush overlay(std::uint32_t index) const;

  std::array<QColor, 8> events;
  bool has_patterns = false;
  QColor background, band, line, text, faint, density, accent, gap, marker, selection;
  QColor track;  // behind what fills it by its share
};

}  // namespace kevt::gui
