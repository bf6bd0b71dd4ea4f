// The agent's notes of the program's threads (kevt_thread), read and changed while everything stands still.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/abi/probe.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// One kevt_thread in use: its address in the target, and a copy of its small fields.
struct ThreadNote {
  RemoteAddr at;
  std::uint64_t thread_pointer = 0;
  std::uint32_t check = 0;
  std::uint32_t pid = 0;  // 0: it has not hit yet
  std::uint32_t tid = 0;
  std::uint64_t guard = 0;
  std::uint64_t counts = 0;
  std::uint64_t blocked = 0;
  std::uint64_t pending = 0;
  std::uint64_t depth = 0;
};

// Writes the thread pointers of the held threads of a Go program, as the agent does for later threads
// (kevt_mark_thread).
Result<void> mark_threads(Tracee& tracee);

Result<std::vector<ThreadNote>> read_thread_notes(const Tracee& tracee, const PlacedAgent& agent);

// The thread pointer of a stopped thread, by which its note is found; nullopt: the thread has none.
Result<std::optional<std::uint64_t>> thread_pointer_of(const Tracee& tracee, pid_t tid);

// The note of one stopped thread; nullptr: there is none, or the note at its thread pointer is a dead thread's.
Result<const ThreadNote*> note_of(const Tracee& tracee, pid_t tid, std::uint32_t check_offset,
                                  const std::vector<ThreadNote>& notes);

// Notes which of the agent's signals are blocked by a thread that has not hit yet.
Result<void> note_blocked(Tracee& tracee, const PlacedAgent& agent, pid_t tid, std::uint64_t blocked);

}  // namespace kevt::inproc
