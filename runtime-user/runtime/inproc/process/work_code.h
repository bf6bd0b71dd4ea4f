// WorkCode: the few instructions that a thread of the target runs while it works for us, and behind them those by which
// it goes back by itself. Whatever instant we die at, the kernel lets the thread go on, and it restores its signal
// mask, its registers and its place.
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
  static constexpr std::uint64_t kSyscallAt = 0;  // `syscall`, then it goes back
  static constexpr std::uint64_t kReturnAt = 4;   // where a called function returns: its result goes to %r9 first
  static constexpr std::uint64_t kBackAt = 7;     // it goes back

  // The thread goes back to these registers, and to `mask`, its signal mask.
  static std::vector<std::uint8_t> build(const user_regs_struct& back, std::uint64_t mask);
};

// The same registers, but that an interrupted system call is started again by the thread itself, as the kernel would
// when it lets it go.
user_regs_struct with_call_restarted(user_regs_struct registers);

// Where kRoom bytes of the target are executable and nobody's: behind the end of its vDSO's code, or of another file's.
// The same place again while `tracee` is held. What a dead tracer has left there stays, and another place is taken.
Result<RemoteAddr> find_work_place(const Tracee& tracee);

// Places that a dead tracer has left so. Where no thread stands in one, nor will come back to it, it may be erased.
std::vector<RemoteAddr> left_work_places(const Tracee& tracee);
Result<void> erase_work_place(const Tracee& tracee, RemoteAddr place);

}  // namespace kevt::inproc
