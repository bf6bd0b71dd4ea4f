// RunProgress: one line on standard error that shows the progress of a recording; only on a terminal, and not with -q.
#pragma once

#include <chrono>
#include <cstdint>

#include "cli/reporter.h"

namespace kevt::cli {

class RunProgress {
 public:
  explicit RunProgress(const Reporter& report);

  struct Figures {
    std::uint64_t events = 0, lost = 0, missed = 0, bytes = 0;
  };
  // Whether it is time for the next show().
  bool is_due() const;
  void show(const Figures& figures);
  // Erases the line.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_on_;
  bool is_shown_ = false;
  Clock::time_point started_, last_;
  std::uint64_t last_events_ = 0;
};

}  // namespace kevt::cli
