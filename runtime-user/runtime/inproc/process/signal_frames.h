// Signal frames: what the kernel put on a thread's stack for each handler that has not returned yet. They hold what the
// thread goes back to: an instruction pointer and a signal mask that no register shows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// sigaltstack(2).
struct AlternateStack {
  RemoteAddr at;
  std::uint64_t bytes = 0;  // 0: none
  bool contains(RemoteAddr address) const { return address.value - at.value < bytes; }
  bool operator==(const AlternateStack&) const = default;
};

struct SignalFrame {
  AlternateStack alternate;      // the thread's when the signal came, as the frame says
  bool is_on_alternate = false;  // the frame lies on it
  std::uint64_t restorer = 0;    // where the handler returns to: the code that calls rt_sigreturn
  RemoteAddr ip;                 // where the interrupted code goes on
  RemoteAddr sp;                 // the interrupted code's stack pointer
  std::uint64_t mask = 0;        // the signals it blocks: bit signo - 1
  RemoteAddr ip_at;              // where `ip` stands in the frame
  RemoteAddr mask_at;            // where `mask` stands in the frame
};

// How frames of handlers that the agent stands in for are told: its restorer takes the signal's number out of a frame
// before rt_sigreturn, so a frame without one is left over, unless the thread is in the agent's code still.
struct AgentCode {
  std::uint64_t restorer = 0;                // 0: there is no agent
  std::function<bool(RemoteAddr)> contains;  // any of its code
};

// The frames on one thread's stacks, innermost first. `restorers`: those of the program's handlers and ours, as given
// to sigaction. Memory that a function of the program has reserved and not written to holds what was there before. So
// a frame of a handler of the program may be among them that has returned, and one that siglongjmp has left; and what
// is left of one on another thread's alternate stack, where both stacks lie in one mapping.
Result<std::vector<SignalFrame>> find_signal_frames(const Tracee& tracee, pid_t tid,
                                                    std::span<const std::uint64_t> restorers, const AgentCode& agent,
                                                    const std::vector<target::Mapping>& maps);

}  // namespace kevt::inproc
