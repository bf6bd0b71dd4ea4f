// HitStacks: the stacks that hits of a process bring along (common/abi/hit_stack.h), and the rules by which they walk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/error.h"
#include "compiler/target/process/stack_unwinder.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"

namespace kevt::inproc {

class HitStacks {
 public:
  HitStacks(SessionMemory& memory, pid_t pid) : memory_(memory), pid_(pid) {}  // `memory` outlives it

  // Reads the call frame information of the process's files and makes the rules. To be called before hits bring stacks.
  Result<void> begin();
  // Files were mapped or unmapped: makes the rules anew.
  void note_new_files();
  // The same for code that a JIT compiler has made.
  void note_jit_code();
  // Cuts the stack off the end of a record and gives its addresses, innermost first; valid until the next call. Empty:
  // the record has none, as only a broken process makes it.
  std::span<const std::uint64_t> take(std::span<std::uint8_t>& record);
  // The stack of this number; empty: there is none. Valid until the next call.
  std::span<const std::uint64_t> numbered(std::uint64_t number);

 private:
  void publish();

  SessionMemory& memory_;
  pid_t pid_;
  std::optional<target::StackUnwinder> unwinder_;
  std::uint64_t published_ = 0;  // StackUnwinder::version() of the rules
  std::vector<std::uint64_t> addresses_;
};

}  // namespace kevt::inproc
