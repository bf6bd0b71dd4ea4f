// Semaphores: counters of 16 bits in a program's own data that say how many trace a marker (USDT); a program may
// prepare a marker's arguments only while its counter is not 0. The kernel's uprobes raise them for
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
  // Raises and lowers them so that each counts `wanted` of ours; `priv` is kevt_private. Where no private writable
  // memory of a file is, there is none, and nothing is written. The process stands still.
  Result<void> set(const Tracee& tracee, RemoteAddr priv, const std::map<RemoteAddr, std::uint32_t>& wanted);

 private:
  std::map<std::uint32_t, kevt_raised> noted_;  // by slot; those that count none are used again
};

// Lowers all that kevt_private notes, also in a forked child or for a tracer that has died: each for itself.
void lower_noted_semaphores(const Tracee& tracee, RemoteAddr priv);

}  // namespace kevt::inproc
