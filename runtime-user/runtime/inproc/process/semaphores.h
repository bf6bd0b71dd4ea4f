// Semaphores: counters of 16 bits in a program's own data that say how many tracers trace a marker (USDT); a program
// may prepare a marker's arguments only while its counter is not 0. The kernel's uprobes raise them for
// PATH:OFFSET(REF_CTR), too.
#pragma once

#include <cstdint>
#include <map>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

class Semaphores {
 public:
  // Raises and lowers semaphores so that `wanted` of each one's count is ours. `priv` is the address of kevt_private.
  // An address outside private writable memory of a file holds no semaphore, and nothing is written there. The process
  // must be stopped.
  Result<void> set(const Tracee& tracee, RemoteAddr priv, const std::map<RemoteAddr, std::uint32_t>& wanted);

 private:
  std::map<std::uint32_t, kevt_raised> noted_;  // by slot; those that count none are used again
};

// Lowers every semaphore that the process's kevt_private notes. A forked child has notes and semaphores of its own; a
// dead tracer's notes are still there.
void lower_noted_semaphores(const Tracee& tracee, RemoteAddr priv);

}  // namespace kevt::inproc
