// ThreadNames: names of the threads that hit, as the agent has noted them; also of threads that have ended.
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

  // Reads the notes that were written since the last call. A thread's note is written before its first record.
  void read();
  bool knows(std::uint32_t tid) const { return names_.contains(tid); }
  // A thread's name, valid until the next read(); "<...>": not known.
  std::string_view name_of(std::uint32_t tid) const;

 private:
  bool take(std::uint64_t note);

  const SessionMemory& memory_;
  pid_t target_;
  std::uint64_t next_ = 0;                // the next note to read
  unsigned asked_ = 0;                    // names that the system was asked for, in this read()
  std::vector<std::uint64_t> unwritten_;  // notes that were begun, but not written yet
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace kevt::inproc
