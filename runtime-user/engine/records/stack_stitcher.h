// StackStitcher: makes the records of programs' stacks.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

class StackStitcher {
 public:
  // A user_stack record with these callers: code addresses, innermost first. `of`: the record that it follows, which
  // gives flags and thread.
  std::vector<std::uint8_t> record(TracedTarget& target, std::vector<std::uint64_t> callers,
                                   std::span<const std::uint8_t> of);
  // Looks at the files of a process again, once for each address that lies in none.
  void look_for_new_files(TracedTarget& target, std::span<const std::uint64_t> callers);
  // To be called before the target is destroyed: another target may get the same address.
  void forget(const TracedTarget& target);

 private:
  std::uint32_t process_of(std::int32_t tid, pid_t otherwise);

  std::unordered_map<std::int32_t, std::uint32_t> process_of_;  // tgid by tid, of threads that had stacks
  std::unordered_map<const TracedTarget*, std::unordered_set<std::uint64_t>> seen_;  // callers that were looked for
};

}  // namespace kevt::engine
