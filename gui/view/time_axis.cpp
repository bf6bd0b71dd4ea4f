// Ticks at round times. Labels name the unit that their step has: "+1.250 ms", not seconds with nine digits.
#include "gui/view/time_axis.h"

#include <cmath>

namespace kevt::gui {
namespace {

double roundStep(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (power * factor >= least) return std::max(1.0, power * factor);
  return power * 10;
}

struct Unit {
  double ns;
  const char* name;
};

QString label(double ns, double step) {
  static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
  const Unit* unit = &kUnits[3];
  const double size = std::max(std::abs(ns), step);
  for (const Unit& one : kUnits) {
    if (size >= one.ns) {
      unit = &one;
      break;
    }
  }
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step / unit->ns) - 1e-9)));
  return QString::number(ns / unit->ns, 'f', digits) + QChar(0x202f) + QString::fromUtf8(unit->name);
}

}  // namespace

std::vector<AxisTick> axisTicks(double from_ns, double to_ns, double label_ns) {
  std::vector<AxisTick> ticks;
  if (!(to_ns > from_ns) || !(label_ns > 0)) return ticks;
  const double step = roundStep(label_ns);
  const double small = step >= 10 ? step / 5 : step;
  if ((to_ns - from_ns) / small > 5000) return ticks;
  for (double at = std::floor(from_ns / small) * small; at < to_ns; at += small) {
    const bool is_large = std::abs(at / step - std::round(at / step)) < 1e-6;
    ticks.push_back({at, is_large ? label(at, step) : QString()});
  }
  return ticks;
}

}  // namespace kevt::gui
