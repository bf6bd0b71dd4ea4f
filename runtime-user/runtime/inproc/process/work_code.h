// WorkCode: the few instructions that a thread of the target runs while it works for us, and behind them the way back,
// by which the thread returns to its own work by itself. Should we die at any instant, the kernel lets the thread go
// on, and the thread restores its signal mask, its registers and its place.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

class WorkCode {
 public:
  static constexpr std::uint64_t kRoom = 256;     // bytes, at most what build() returns
  static constexpr std::uint64_t kSyscallAt = 0;  // `syscall`, then the way back
  static constexpr std::uint64_t kReturnAt = 4;   // a called function returns here: its result to %r9, the way back
  static constexpr std::uint64_t kBackAt = 7;     // the way back

  // Code whose way back restores these registers and the signal mask `mask`.
  static std::vector<std::uint8_t> build(const user_regs_struct& back, std::uint64_t mask);
};

// The same registers, except that the thread starts an interrupted system call again by itself, as the kernel would
// have it do when the thread goes on.
user_regs_struct with_call_restarted(user_regs_struct registers);

// A place in the target with kRoom bytes that are executable and unused: behind the end of the vDSO's code, or of
// another file's. A place where a dead tracer has left code is not taken.
Result<RemoteAddr> find_work_place(const Tracee& tracee);

// Places where a dead tracer has left code. A place may be erased when no thread stands in it or will return to it.
std::vector<RemoteAddr> left_work_places(const Tracee& tracee);
Result<void> erase_work_place(const Tracee& tracee, RemoteAddr place);

}  // namespace kevt::inproc
