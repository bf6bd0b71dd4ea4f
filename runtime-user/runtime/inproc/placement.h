// Placement: what is mapped into a target before the first probe: the session's memory, the code
// arena's windows and the agent; and taken away again.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "common/error.h"
#include "compiler/target/process_map.h"
#include "runtime-user/runtime/inproc/code_arena.h"
#include "runtime-user/runtime/inproc/session_memory.h"
#include "runtime-user/runtime/inproc/tracee.h"

namespace kevt::inproc {

// Where the agent's parts are in the target.
struct PlacedAgent {
  RemoteAddr base;
  RemoteAddr priv;    // kevt_private
  RemoteAddr selves;  // what fork wipes
  std::uint64_t max_threads = 0;
};

class Placement {
 public:
  Placement(Tracee& tracee, SessionMemory& memory, CodeArena& arena)
      : tracee_(tracee), memory_(memory), arena_(arena) {}

  // All need the target stopped.
  Result<void> place_agent();
  // Room for `bytes` in a window that reaches every byte of [begin, end), mapped when there is none yet.
  Result<RemoteAddr> allocate(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes);
  // Unmaps everything: only when no thread can ever come back to it.
  Result<void> take_away();
  // Of a forked child of `parent`'s target: what is mapped there is mapped here, unless it came after the fork.
  void adopt(const Placement& parent);

  // A load at `fault` that faults goes on at `fixup`.
  Result<void> note_fault(RemoteAddr fault, RemoteAddr fixup) { return memory_.map_address(fault, fixup); }

  const PlacedAgent& agent() const { return agent_; }
  const Tracee& tracee() const { return tracee_; }
  // A page of the target for what system calls read and write; kept until take_away().
  Result<RemoteAddr> scratch_page();
  // A system call of the target; its failure is an error that says `what`.
  Result<std::int64_t> call(const char* what, std::int64_t number, std::array<std::uint64_t, 6> arguments);

  // mmap in the target, anywhere.
  Result<RemoteAddr> map_anonymous(std::uint64_t bytes, int protection);

 private:
  Result<CodeArena::Window*> window_for(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes);
  struct Mapped {
    RemoteAddr at;
    std::uint64_t bytes = 0;
    bool is_window = false;  // of the code arena, which may come at any time
  };

  Result<RemoteAddr> agent_neighbour();
  Result<void> map_session();
  Result<void> map_session_files(RemoteAddr base);
  Result<void> map_private();
  Result<void> check_session(RemoteAddr base) const;
  Result<RemoteAddr> map_window(RemoteAddr at, std::uint64_t offset);

  Tracee& tracee_;
  SessionMemory& memory_;
  CodeArena& arena_;
  PlacedAgent agent_;
  RemoteAddr scratch_;
  std::vector<Mapped> mapped_;
  bool is_taken_away_ = false;
};

}  // namespace kevt::inproc
