// SessionMemory: the memory that a session shares with its targets (common/abi/probe.h), as two files:
//
//   tables    what decides where a target goes: addresses, the address map, notes of patches. Read-only in targets.
//   session   what targets write: counters, rings, notes of threads, shared words. Nothing of it is believed.
//
// Both are mapped here and in a target by one plan. A ring's data is mapped twice in a row there and here, so that
// records never wrap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/memory/shared_file.h"

namespace kevt::inproc {

// Reads memory that other processes write.
template <class T>
T load_acquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

class ProbedFiles;

struct SessionOptions {
  std::uint64_t ring_bytes = 4u << 20;           // per CPU; a power of two, at least 64 KiB
  std::uint32_t rows = 1024;                     // counter rows: events times instances
  std::uint64_t max_threads = KEVT_MAX_THREADS;  // of one process: live ones, and about as many dead ones
  bool follows_exec = false;  // programs that the target or its children become by exec are held, too
  std::shared_ptr<ProbedFiles> files = nullptr;  // what other sessions have read; nullptr: reads its own
};

// Map `length` bytes of a file from `file_offset` at `at` bytes from the mapping's base.
struct MapPiece {
  enum class From : std::uint8_t { Tables, Session };
  From from = From::Session;
  std::uint64_t at = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;
  bool is_ring = false;  // written by every hit

  bool is_writable() const { return from == From::Session; }  // in a target
};

class SessionMemory {
 public:
  static Result<SessionMemory> create(const SessionOptions& options);
  SessionMemory(SessionMemory&&) noexcept;
  SessionMemory& operator=(SessionMemory&&) = delete;
  ~SessionMemory();

  const SharedFile& file(MapPiece::From from) const { return from == MapPiece::From::Tables ? tables_ : session_; }
  std::uint64_t span() const { return span_; }  // bytes of address space the plan needs
  const std::vector<MapPiece>& plan() const { return plan_; }

  // Bytes of a target's own memory for so many threads: kevt_private, and what fork wipes.
  static std::uint64_t private_bytes(std::uint64_t max_threads);
  static std::uint64_t wiped_bytes(std::uint64_t max_threads);
  // Fills in the tables: for a target that is about to map the plan at `base`; its own memory; the agent's code.
  void set_target(RemoteAddr base);
  void set_private(RemoteAddr priv, RemoteAddr selves, std::uint64_t max_threads);
  void set_agent(RemoteAddr code, std::uint64_t bytes, const kevt_services& services);
  void note_window(std::uint32_t index, RemoteAddr at, std::uint64_t bytes);
  void note_mapped(std::span<const kevt_mapping> anonymous);
  // Notes the text's own bytes before the text at `site` is changed, for whoever has to undo it. `inode`: of the file
  // there; 0: none. `order`: KEVT_PATCH_…
  Result<void> note_patch(RemoteAddr site, std::span<const std::uint8_t> own, std::uint64_t inode, std::uint8_t order);
  // What stands at `site` in the target now is not ours: there is nothing to undo. Forked children may have the patch.
  void note_gone_patch(RemoteAddr site);
  std::span<const kevt_patch> patches() const;
  RemoteAddr target() const { return target_; }  // of kevt_tables
  // Only the controller writes it.
  kevt_tables& tables() const { return *reinterpret_cast<kevt_tables*>(local_); }
  // Every process of the session may write it.
  kevt_session& session() const { return *reinterpret_cast<kevt_session*>(local_ + session_at_); }

  // A kevt_event: where it is here and in the target.
  struct EventBlock {
    kevt_event* local = nullptr;
    RemoteAddr target;
    std::uint32_t row = 0;
  };
  // Fills a block in the code arena, all gates shut, and gives it counters. `sinks`: KEVT_TILE_ROWS at most.
  Result<EventBlock> add_event(kevt_event* local, RemoteAddr target, std::uint32_t sinks);
  // Zeroes the event's counters and frees them for another event. No hit of the event may be under way in any process.
  void forget_event(std::uint32_t row, std::uint32_t sinks);
  // How many rows are left, for events of one sink.
  std::uint32_t free_rows() const { return options_.rows - rows_used_ + static_cast<std::uint32_t>(free_rows_.size()); }

  // Notes an int3 site or a fault fix-up in the address map.
  Result<void> map_address(RemoteAddr key, RemoteAddr value);
  // Removes a key that no process will look up any more.
  void unmap_address(RemoteAddr key);

  // The KEVT_SHARED_WORDS shared words, in this process; and the address of one in the target.
  std::span<std::uint64_t> words() const;
  RemoteAddr word(std::uint64_t index) const { return target_ + words_at_ + 8 * index; }

  // How hits walk their stacks (`which`: 0 or 1), and the stacks that they have kept (common/abi/hit_stack.h).
  std::span<kevt_stack_rule> rules(std::uint64_t which) const {
    return {at<kevt_stack_rule>(rules_at_) + which * KEVT_STACK_RULES, KEVT_STACK_RULES};
  }
  const kevt_stacks& stacks() const { return *at<const kevt_stacks>(stacks_at_); }

  // Sum of one counter row over all shards. Reads the pages that exist, and makes none.
  kevt_counts counts(std::uint32_t row) const;
  // Counter shards of the session, and how many of them have been given out.
  std::uint64_t max_shards() const { return max_shards_; }
  std::uint64_t used_shards() const { return std::min(load_acquire(session().next_shard), max_shards_); }
  // No process makes new pages of counters any more: from now on the file is asked once which ones exist.
  void settle() { settled_ = true; }
  // Where the missed counter of a row lies in the target, for a thread whose kevt_thread.counts says `shard`; 0 where
  // that is no shard.
  RemoteAddr missed_counter(std::uint32_t row, RemoteAddr shard) const;

  // Notes of who hit: kevt_session.next_note says how many were begun.
  std::span<const kevt_shard_owner> notes() const;

  const SessionOptions& options() const { return options_; }
  std::uint32_t ring_count() const { return ring_count_; }
  std::uint64_t ring_bytes() const { return options_.ring_bytes; }
  kevt_ring& ring(std::uint32_t cpu) const;

 private:
  SessionMemory() = default;
  std::uint64_t group_of(std::uint32_t row) const { return counts_at_ + row / KEVT_TILE_ROWS * group_bytes_; }
  std::vector<std::uint64_t> tiles_of(std::uint64_t group) const;
  std::optional<std::uint32_t> take_rows(std::uint32_t sinks);
  void plan_files();
  Result<void> map();
  void fill();
  template <class T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(local_ + offset);
  }

  SharedFile tables_, session_;
  std::uint8_t* local_ = nullptr;
  std::uint64_t span_ = 0;
  std::uint64_t tables_bytes_ = 0, session_bytes_ = 0;  // of the files
  std::vector<MapPiece> plan_;
  RemoteAddr target_;
  SessionOptions options_;
  std::uint32_t ring_count_ = 0;
  std::uint64_t ring_stride_ = 0, max_shards_ = 0, group_bytes_ = 0;
  std::uint64_t patches_at_ = 0, map_at_ = 0, rules_at_ = 0;  // of the tables, from their start
  std::uint64_t session_at_ = 0, owners_at_ = 0, words_at_ = 0, stacks_at_ = 0, counts_at_ = 0,
                rings_at_ = 0;  // from the base
  bool settled_ = false;
  mutable std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> settled_tiles_;  // by tiles_of()'s group
  std::uint32_t rows_used_ = 0;                                                          // all below it were given out
  std::set<std::uint32_t> free_rows_;                                          // of these, what was given back
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> patch_at_;  // site and inode -> the note
};

// Bit i: instance i records. While all gates are shut, a return event's entry half goes to the agent (enters_slowly).
void set_gates(kevt_event& event, std::uint32_t gates);

// Our pid, by which the agent in process `target` asks whether we still live; KEVT_NOT_SEEN: it is in another PID
// namespace.
std::uint64_t answerer_of(pid_t target);

// CPUs that may ever come online (/sys/devices/system/cpu/possible).
std::uint32_t possible_cpus();

}  // namespace kevt::inproc
