// Detacher: takes everything of ours out of one stopped process: the traced one, or a child that it forked, which
// carries copies of our patches and mappings.
#pragma once

#include <functional>
#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/code/patcher.h"
#include "runtime-user/runtime/inproc/code/return_slots.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"
#include "runtime-user/runtime/inproc/process/signal_handover.h"

namespace kevt::inproc {

// What is left in a process that is not traced any more.
enum class DetachResult : std::uint8_t {
  Nothing,
  Code,      // our pages: a call that began under a return probe may still come back to them
  Agent,     // our pages and the signals: a thread stays inside a hit
  Filtered,  // the same: its seccomp filter lets us make no system call there
  Unseen,    // it has become another program, or is gone
};

class Detacher {
 public:
  // Called for each call whose return address was given back: the thread's note, and the return event's kevt_event.
  using Missed = std::function<void(const ThreadNote&, RemoteAddr event)>;

  Detacher(RemoteMapper& mapper, SignalHandover& signals)
      : tracee_(mapper.tracee()), mapper_(mapper), signals_(signals) {}

  // `noted`: every place in the text that may differ from its own bytes. The process is released.
  Result<DetachResult> leave(std::span<const kevt_patch> noted, std::uint32_t check_offset, const Missed& missed);

  // Lets the process run until the threads that worked for a dead tracer are back at their own work; its pauses add up
  // to 20 s at most. A thread may make the dead tracer's system call only now, so what is mapped is not known before.
  static Result<void> let_work_end(Tracee& tracee);

 private:
  bool is_ours(RemoteAddr at) const;
  bool is_in_hit(pid_t tid) const;
  Result<bool> is_called(pid_t tid) const;
  Result<bool> is_anyone_inside();
  // Lets the disarmed process run for moments until no thread is in a hit; false: one stays there.
  Result<bool> wait_until_quiet();
  Result<void> forget_selves();
  Result<void> undo(std::span<const kevt_patch> noted, std::uint8_t order);
  Result<DetachResult> take_away(std::span<const kevt_patch> noted, std::uint32_t check_offset, const Missed& missed);

  Tracee& tracee_;
  RemoteMapper& mapper_;
  SignalHandover& signals_;
  std::vector<RemoteAddr> left_work_;  // by a tracer that died
};

}  // namespace kevt::inproc
