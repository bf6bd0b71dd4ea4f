// StackStitcher: the stack of a program's hit, made of the sample that its record carries.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/target/process/stack_unwinder.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

class StackStitcher {
 public:
  // Code addresses, innermost first; the hit's alone where the target cannot be unwound.
  std::vector<std::uint64_t> unwind(TracedTarget& target, const target::StackSample& sample);
  // A user_stack record of these callers. `of`: the record it stands behind, whose flags and thread it has.
  std::vector<std::uint8_t> record(TracedTarget& target, std::vector<std::uint64_t> callers,
                                   std::span<const std::uint8_t> of);
  // The target is gone: its address may become another's.
  void forget(const TracedTarget& target);

 private:
  std::uint32_t process_of(std::int32_t tid, pid_t otherwise);
  void look_for_new_files(TracedTarget& target, std::span<const std::uint64_t> callers);

  std::unordered_map<std::int32_t, std::uint32_t> process_of_;        // of threads that had stacks
  std::set<std::pair<const TracedTarget*, std::uint64_t>> nameless_;  // callers that were looked for
};

}  // namespace kevt::engine
