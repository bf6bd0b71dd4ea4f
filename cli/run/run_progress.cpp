// "\r  1.1s  18204 events  16.5 k/s  lost 0  missed 0  412 KiB", twice a second, over itself.
#include "cli/run/run_progress.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "common/print.h"

namespace kevt::cli {
namespace {

constexpr std::chrono::milliseconds kEvery{500};

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) && !(term && std::string_view(term) == "dumb");
}

}  // namespace

RunProgress::RunProgress(const Reporter& report)
    : is_on_(!report.is_quiet() && is_terminal()), started_(Clock::now()), last_(started_) {}

bool RunProgress::is_due() const { return is_on_ && Clock::now() - last_ >= kEvery; }

void RunProgress::show(const Figures& figures) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const double rate = static_cast<double>(figures.events - last_events_) / seconds;
  print_to(messages(), "\r{:>6.1f}s {:>10} events {:>9.1f} k/s  lost {}  missed {}  {} KiB\033[K",
           std::chrono::duration<double>(now - started_).count(), figures.events, rate / 1000, figures.lost,
           figures.missed, figures.bytes / 1024);
  last_ = now;
  last_events_ = figures.events;
  is_shown_ = true;
}

void RunProgress::end() {
  if (is_shown_) print_to(messages(), "\r\033[K");
  is_shown_ = false;
}

}  // namespace kevt::cli
