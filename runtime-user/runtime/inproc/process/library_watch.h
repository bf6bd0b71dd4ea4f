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
  RemoteAddr r_debug;   // 0: not known
};
// nullopt: the program has no dynamic linker, or one that reports nothing.
Result<std::optional<LibraryReport>> find_library_report(ProbePoints& points);

class LibraryWatch {
 public:
  // `target`: the session's process. `memory` must outlive the watch.
  LibraryWatch(SessionMemory& memory, pid_t target) : memory_(memory), target_(target) {}

  // From now on a thread that reports waits for an answer. The caller puts the probe in front of the function.
  void begin(const LibraryReport& report);
  bool has_begun() const { return begun_; }
  // Whether a report waits and it is time to look. Looking takes at most half of the time, however often threads
  // report.
  bool is_asked();
  // The libraries have been looked at: every thread goes on that had reported before the look.
  void answer();
  // From now on no thread waits for an answer.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  void wake(std::uint64_t answers);

  SessionMemory& memory_;
  pid_t target_;
  bool begun_ = false;
  std::uint64_t seen_ = 0;             // reports, before the look
  Clock::time_point began_, not_yet_;  // when the look began; no look before `not_yet_`
};

}  // namespace kevt::inproc
