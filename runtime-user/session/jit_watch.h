// JitWatch: whether a JIT compiler has told of new code since the last look (docs/adr/0042).
//
// Nobody reports it, so the perf map's version is looked at ten times a second. A look at the code takes longer the
// more code there is; looks take at most a fifth of the time.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "compiler/target/process/perf_map.h"

namespace kevt::session {

class JitWatch {
 public:
  // Whether the code is to be looked at now. The caller says looked() afterwards, or pass() where nobody asks for it
  // yet.
  bool is_due(pid_t pid) {
    if (Clock::now() < not_yet_) return false;
    began_ = Clock::now();
    not_yet_ = began_ + kEvery;
    const auto version = target::perf_map_version(pid);
    if (!version || version == seen_) return false;
    seen_ = version;
    return true;
  }
  void pass() { seen_.reset(); }
  void looked() {
    const Clock::time_point now = Clock::now();
    not_yet_ = now + std::max<Clock::duration>(kEvery, kRest * (now - began_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{100};
  static constexpr int kRest = 4;

  std::optional<target::FileVersion> seen_;
  Clock::time_point began_, not_yet_;
};

}  // namespace kevt::session
