// Semaphores: counters of 16 bits in a program's own data that say how many trace a marker (USDT); a program may
// prepare a marker's arguments only while its counter is not 0. The kernel's uprobes raise them for
// PATH:OFFSET(REF_CTR), too.
#pragma once

#include <cstdint>
#include <map>

#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

class Semaphores {
 public:
  // Raises and lowers them so that each counts `wanted` of ours; `priv` is kevt_private. Where no private writable
  // memory is, there is none, and nothing is written. The process stands still.
  Result<void> set(const Tracee& tracee, RemoteAddr priv, const std::map<RemoteAddr, std::uint32_t>& wanted);

 private:
  struct Raised {
    std::uint32_t count = 0;
    std::uint32_t slot = 0;  // of its note
  };
  std::map<RemoteAddr, Raised> raised_;  // also those that count none any more
};

// Lowers all that kevt_private notes, also in a forked child or for a tracer that has died.
Result<void> lower_noted_semaphores(const Tracee& tracee, RemoteAddr priv);

}  // namespace kevt::inproc
