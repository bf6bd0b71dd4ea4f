// StackUnwinder: from the registers and the piece of stack that a hit recorded to the functions that were on the stack.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/abi/hit_stack.h"
#include "common/error.h"

namespace kevt::target {

// The registers of an x86-64 thread at a hit, and the bytes on its stack.
struct StackSample {
  std::uint64_t pc = 0, sp = 0;
  std::uint64_t bx = 0, bp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;  // callee-saved registers
  std::span<const std::uint8_t> stack;                               // from sp on
};

// Reads the call frame information (.eh_frame) of the files that the process has mapped: no frame pointers are needed.
// Code without a file, which a JIT compiler has made, is walked by frame pointers (jit_frames.h). Not thread safe.
class StackUnwinder {
 public:
  static constexpr std::size_t kMaxFrames = 127;  // as the kernel's PERF_MAX_STACK_DEPTH

  static Result<StackUnwinder> of_process(pid_t pid);
  StackUnwinder(StackUnwinder&&) noexcept;
  StackUnwinder& operator=(StackUnwinder&&) noexcept;
  ~StackUnwinder();

  pid_t pid() const;
  // Reads again what the process has mapped; if the process has ended, everything known of it is kept.
  void refresh();
  // The same for code without a file, and what its perf map says.
  void refresh_jit();
  // The program counter, then return addresses, innermost first. Ends at the end of the piece of stack, or at an
  // address that is no known code; never empty.
  std::vector<std::uint64_t> unwind(const StackSample& sample);
  // How to get from each address to the caller, as hits do it by themselves (common/abi/hit_stack.h): the rules of all
  // code that the process has mapped, sorted. Files whose rules would make it more than `most` have none.
  std::vector<kevt_stack_rule> rules(std::size_t most);
  // Grows when other files are known to be mapped than before.
  std::uint64_t version() const;

 private:
  struct State;
  struct Callbacks;
  explicit StackUnwinder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
