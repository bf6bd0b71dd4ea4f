// ThreadNames: what the agent has noted of threads that hit, also of those that are gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime-user/runtime/inproc/memory/session_memory.h"

namespace kevt::inproc {

class ThreadNames {
 public:
  // `memory` must outlive this; `target`: the session's process.
  ThreadNames(const SessionMemory& memory, pid_t target) : memory_(memory), target_(target) {}

  // Takes up what was noted since the last time. A thread's note is written before its first record.
  void read();
  bool knows(std::uint32_t tid) const { return names_.contains(tid); }
  // "<...>" where it is not known. Until the next read().
  std::string_view name_of(std::uint32_t tid) const;

 private:
  bool take(std::uint64_t note);

  const SessionMemory& memory_;
  pid_t target_;
  std::uint64_t next_ = 0;                // note
  unsigned asked_ = 0;                    // names of the system, in this read()
  std::vector<std::uint64_t> unwritten_;  // begun, of which there was nothing to take yet
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace kevt::inproc
