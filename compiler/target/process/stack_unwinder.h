// StackUnwinder: from registers and a piece of stack, as a hit recorded them, to the functions that were under way.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/error.h"

namespace kevt::target {

// Where a thread of x86-64 stood, and what lay on its stack.
struct StackSample {
  std::uint64_t pc = 0, sp = 0;
  std::uint64_t bx = 0, bp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;  // what functions keep for their callers
  std::span<const std::uint8_t> stack;                               // from sp on
};

// Reads the call frame information (.eh_frame) of what the process has mapped: no frame pointers are needed. Not thread
// safe.
class StackUnwinder {
 public:
  static constexpr std::size_t kMaxFrames = 127;  // as the kernel's PERF_MAX_STACK_DEPTH

  static Result<StackUnwinder> of_process(pid_t pid);
  StackUnwinder(StackUnwinder&&) noexcept;
  StackUnwinder& operator=(StackUnwinder&&) noexcept;
  ~StackUnwinder();

  pid_t pid() const;
  // What the process has mapped now; of one that has ended what was known stays.
  void refresh();
  // The program counter, then return addresses, innermost first. Ends where the piece of stack ends, or where nothing
  // is known of an address; never empty.
  std::vector<std::uint64_t> unwind(const StackSample& sample);

 private:
  struct State;
  struct Callbacks;
  explicit StackUnwinder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
