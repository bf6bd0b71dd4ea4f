// How long the UI thread was busy, for benchmarks of the window.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::gui {

// What a thread has waited for: a CPU while it was ready to run, and pages that came from a disk.
struct Waits {
  double for_cpu_ns = 0;
  long major_faults = 0;

  // Of the calling thread, which is the same each time. schedstat has the ns on a CPU, then those of waiting for one
  // (Documentation/scheduler/sched-stats.rst).
  static Waits now() {
    static const int schedstat = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128];
    const ssize_t size = ::pread(schedstat, text, sizeof text, 0);
    const std::string_view line(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    std::uint64_t ns = 0;
    if (const std::size_t space = line.find(' '); space != line.npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), ns);
    rusage usage = {};
    ::getrusage(RUSAGE_THREAD, &usage);
    return {static_cast<double>(ns), usage.ru_majflt};
  }
};

// Wall time, the UI thread's CPU time, and what it waited for. On a busy machine they differ, and only the CPU time is
// the window's fault.
struct Stopwatch {
  Stopwatch() : waits(Waits::now()), cpu_ns(now(CLOCK_THREAD_CPUTIME_ID)) { wall.start(); }
  static double now(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  Waits waits;
  QElapsedTimer wall;
  double cpu_ns;
};

struct Times {
  static constexpr double kLongMs = 16;
  std::vector<double> wall_ms, cpu_ms;
  // Of those that took longer than kLongMs: that waited for a CPU more than half of it; that read pages from a disk.
  int long_by_cpu = 0, long_by_disk = 0;

  void add(const Stopwatch& watch) {
    wall_ms.push_back(static_cast<double>(watch.wall.nsecsElapsed()) / 1e6);
    cpu_ms.push_back((Stopwatch::now(CLOCK_THREAD_CPUTIME_ID) - watch.cpu_ns) / 1e6);
    if (wall_ms.back() <= kLongMs) return;
    const Waits waits = Waits::now();
    if ((waits.for_cpu_ns - watch.waits.for_cpu_ns) / 1e6 > wall_ms.back() / 2) ++long_by_cpu;
    if (waits.major_faults > watch.waits.major_faults) ++long_by_disk;
  }
  void clear() { *this = {}; }
  void print(const std::string& what, const char* unit) {
    if (wall_ms.empty()) return;
    std::ranges::sort(wall_ms);
    std::ranges::sort(cpu_ms);
    const std::size_t middle = wall_ms.size() / 2, p99 = wall_ms.size() * 99 / 100;
    fmt::print(
        "{:<28} {:>6} {}   thread: median {:>6.2f} ms, p99 {:>6.2f}, worst {:>6.2f}   passed: median {:>6.2f}, p99 "
        "{:>6.2f}, worst {:>7.2f}; over 16 ms: {}{}\n",
        what, wall_ms.size(), unit, cpu_ms[middle], cpu_ms[p99], cpu_ms.back(), wall_ms[middle], wall_ms[p99],
        wall_ms.back(), std::ranges::count_if(wall_ms, [](double ms) { return ms > kLongMs; }), reasons());
  }
  std::string reasons() const {
    if (long_by_cpu == 0 && long_by_disk == 0) return {};
    return fmt::format(" ({} waited for a CPU, {} for a disk)", long_by_cpu, long_by_disk);
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
