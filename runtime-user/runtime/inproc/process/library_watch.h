// LibraryWatch: the target asks us to look when a library has come or gone, and waits for the answer.
#pragma once

#include <chrono>
#include <optional>

#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"

namespace kevt::inproc {

// Where the dynamic linker tells debuggers that its list of libraries has changed.
struct LibraryReport {
  RemoteAddr function;  // _dl_debug_state
  RemoteAddr r_debug;   // 0: it shows none
};
// nullopt: the program has no dynamic linker, or one that reports nothing.
Result<std::optional<LibraryReport>> find_library_report(ProbePoints& points);

class LibraryWatch {
 public:
  // `target`: the session's process. `memory` must outlive the watch.
  LibraryWatch(SessionMemory& memory, pid_t target) : memory_(memory), target_(target) {}

  // From now on reports wait for answers; the probe in front of the function is the caller's.
  void begin(const LibraryReport& report);
  bool has_begun() const { return begun_; }
  // Whether a report waits, and it is time to look. Looking takes half of the time at most, whoever reports how often.
  bool is_asked();
  // The libraries have been looked at: lets everybody go on who had asked before.
  void answer();
  // Nobody waits any more.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  void wake(std::uint64_t answers);

  SessionMemory& memory_;
  pid_t target_;
  bool begun_ = false;
  std::uint64_t seen_ = 0;             // reports, before the look
  Clock::time_point began_, not_yet_;  // when the look began; before which there is none
};

}  // namespace kevt::inproc
