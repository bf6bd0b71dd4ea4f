// The time axis: where ticks stand and what they are called.
#pragma once

#include <QString>
#include <vector>

namespace kevt::gui {

struct AxisTick {
  double ns = 0;  // behind the origin
  QString text;   // empty: a small tick
};

// Ticks of [from_ns, to_ns), large ones at least `label_ns` apart, at 1, 2 or 5 times a power of ten.
std::vector<AxisTick> axisTicks(double from_ns, double to_ns, double label_ns);

}  // namespace kevt::gui
