// Placement: what is mapped into a target before the first probe: the session's memory, the code arena's windows and
// the agent; and where new code goes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/code/code_arena.h"
#include "runtime-user/runtime/inproc/memory/hit_tables.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"

namespace kevt::inproc {

// Code of ours in the target, and what the address map says of it.
struct PlacedCode {
  RemoteAddr at;
  std::uint64_t bytes = 0;
  std::uint64_t since = 0;         // clock ticks since boot, as proc::start_time
  std::vector<RemoteAddr> mapped;  // keys of the address map

  bool contains(RemoteAddr place) const { return place >= at && place < at + bytes; }
};

class Placement {
 public:
  Placement(RemoteMapper& mapper, SessionMemory& memory, CodeArena& arena)
      : mapper_(mapper), memory_(memory), arena_(arena) {}

  // All need the target stopped.
  Result<void> place_agent();
  // Maps a hit table; returns its address in the target. Children that were forked before have no code that counts in
  // it.
  Result<RemoteAddr> map_hit_table(const HitTables& tables, std::uint32_t table);
  // Room for `bytes` in a window from which a rel32 reaches every byte of [begin, end); maps a window where none has
  // room.
  Result<PlacedCode> allocate(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes);
  // How many windows and hit tables were mapped when the one that holds `at` was, itself included: so many a process
  // must have to use it. 0: none holds `at`.
  std::uint32_t mapped_with(RemoteAddr at) const;
  // Frees code that no process runs or may return to.
  void give_back(const PlacedCode& code);

  // A load at `fault`, in this code, continues at `fixup` when it faults.
  Result<void> note_fault(PlacedCode& code, RemoteAddr fault, RemoteAddr fixup);

  const PlacedAgent& agent() const { return mapper_.agent(); }
  const Tracee& tracee() const { return mapper_.tracee(); }

 private:
  Result<CodeArena::Window*> window_for(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes);
  Result<RemoteAddr> agent_neighbour();
  Result<RemoteAddr> reserve_session();
  Result<void> map_session();
  Result<void> map_session_files(RemoteAddr base);
  Result<PlacedAgent> map_private();
  Result<void> check_session(RemoteAddr base) const;
  Result<void> note_threads();
  Result<void> count_mapped(RemoteAddr at, std::uint64_t bytes);

  RemoteMapper& mapper_;
  SessionMemory& memory_;
  CodeArena& arena_;
  std::vector<kevt_mapping> mapped_;  // windows and hit tables, in their order
};

}  // namespace kevt::inproc
