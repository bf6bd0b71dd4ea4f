// The time axis: places and labels of ticks.
#pragma once

#include <QString>
#include <vector>

namespace kevt::gui {

struct AxisTick {
  double ns = 0;  // relative to the first record
  QString text;   // label; empty: a small tick
};

// The ticks in [from_ns, to_ns). Labelled ticks are at least `label_ns` apart, in steps of 1, 2 or 5 times a power of
// ten.
std::vector<AxisTick> axisTicks(double from_ns, double to_ns, double label_ns);

}  // namespace kevt::gui
