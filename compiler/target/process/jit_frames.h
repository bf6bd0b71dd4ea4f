// JitFrames: where callers are found in code of JIT compilers, which lies in memory without a file, in shared memory,
// or is a second copy of a part of a file, as rules (common/abi/hit_stack.h). docs/adr/0046.
//
//   fib    push %rbp; mov %rsp, %rbp; …    its caller's frame lies at %rbp + 16: JIT compilers keep frame pointers
//   entry  here a probe stands             the return address lies on top
//   py::…  sub $8, %rsp; call *%rcx; …     CPython's trampoline, which keeps none: %rsp + 16
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/abi/hit_stack.h"
#include "compiler/target/elf/file_contents.h"
#include "compiler/target/process/perf_map.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {

class JitFrames {
 public:
  // Looks at what is mapped, and at the perf map where it has changed. A perf map that is not believed counts as none.
  // True: the rules are others than before.
  bool look(pid_t pid, const std::vector<Mapping>& maps);
  // The rule of an address; KEVT_STACK_NO_RULE: it lies in no such code.
  std::uint64_t rule_at(std::uint64_t address) const;
  // Sorted; between the code, and behind it, they say KEVT_STACK_NO_RULE. Empty: there is none.
  const std::vector<kevt_stack_rule>& rules() const { return rules_; }

 private:
  std::vector<kevt_stack_rule> rules_;
  std::optional<FileVersion> version_;  // of the map that `functions_` are from
  std::vector<PerfMapEntry> functions_;
};

// What either says of an address: `files`, or `jit` where it says something. Both sorted.
std::vector<kevt_stack_rule> joined_rules(const std::vector<kevt_stack_rule>& files,
                                          const std::vector<kevt_stack_rule>& jit);

}  // namespace kevt::target
