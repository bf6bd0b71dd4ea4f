// How long the UI thread was busy, for benchmarks of the window.
#pragma once

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace kevt::gui {

// Wall time and the UI thread's CPU time. On a busy machine the two differ, and only the CPU time is the window's
// fault.
struct Stopwatch {
  Stopwatch() : cpu_ns(now(CLOCK_THREAD_CPUTIME_ID)) { wall.start(); }
  static double now(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  QElapsedTimer wall;
  double cpu_ns;
};

struct Times {
  std::vector<double> wall_ms, cpu_ms;
  void add(const Stopwatch& watch) {
    wall_ms.push_back(static_cast<double>(watch.wall.nsecsElapsed()) / 1e6);
    cpu_ms.push_back((Stopwatch::now(CLOCK_THREAD_CPUTIME_ID) - watch.cpu_ns) / 1e6);
  }
  void clear() {
    wall_ms.clear();
    cpu_ms.clear();
  }
  void print(const std::string& what, const char* unit) {
    if (wall_ms.empty()) return;
    std::ranges::sort(wall_ms);
    std::ranges::sort(cpu_ms);
    const std::size_t middle = wall_ms.size() / 2, p99 = wall_ms.size() * 99 / 100;
    fmt::print(
        "{:<28} {:>6} {}   thread: median {:>6.2f} ms, p99 {:>6.2f}, worst {:>6.2f}   passed: median {:>6.2f}, p99 "
        "{:>6.2f}, worst {:>7.2f}; over 16 ms: {}\n",
        what, wall_ms.size(), unit, cpu_ms[middle], cpu_ms[p99], cpu_ms.back(), wall_ms[middle], wall_ms[p99],
        wall_ms.back(), std::ranges::count_if(wall_ms, [](double ms) { return ms > 16; }));
  }
};

// Measures each event of the event loop, nested events included: how long nothing else could happen.
class TimedApplication : public QApplication {
 public:
  using QApplication::QApplication;
  Times turns;

  bool notify(QObject* receiver, QEvent* event) override {
    if (depth_ > 0) return QApplication::notify(receiver, event);
    ++depth_;
    const Stopwatch watch;
    const bool result = QApplication::notify(receiver, event);
    --depth_;
    if (watch.wall.nsecsElapsed() > 20'000) turns.add(watch);  // shorter ones are many and do not matter
    return result;
  }

 private:
  int depth_ = 0;
};

}  // namespace kevt::gui
