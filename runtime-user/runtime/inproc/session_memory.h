// SessionMemory: the memory a session shares with its targets (common/abi/probe.h): events,
// counters, the address map and the per-CPU rings. One memfd, mapped here and in the target by the
// same plan; a ring's data is mapped twice in a row there and here, so that records never wrap.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::inproc {

struct SessionOptions {
  std::uint64_t ring_bytes = 4u << 20;  // per CPU; a power of two, at least 64 KiB
  std::uint32_t rows = 1024;            // counter rows: events times instances
  bool follows_exec = false;            // programs that the target, or what it forks, becomes by exec are held, too
};

// Map `length` bytes of the memfd from `file_offset` at `at` bytes from the mapping's base.
struct MapPiece {
  std::uint64_t at = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;
};

// One committed record: the ftrace bytes, and when (raw TSC).
struct RawRecord {
  std::uint64_t tsc = 0;
  std::uint32_t cpu = 0;
  std::span<const std::uint8_t> bytes;
};

class SessionMemory {
 public:
  static Result<SessionMemory> create(const SessionOptions& options);
  SessionMemory(SessionMemory&&) noexcept;
  SessionMemory& operator=(SessionMemory&&) = delete;
  ~SessionMemory();

  int fd() const { return fd_.get(); }
  std::uint64_t span() const { return span_; }  // bytes of address space the plan needs
  const std::vector<MapPiece>& plan() const { return plan_; }

  // Fills the head for a target that maps the plan at `base`, with its private memory elsewhere. `index` is what fork
  // wipes, kWipedBytes.
  static constexpr std::uint64_t kIndexBytes = (8ull << KEVT_INDEX_BITS) + 8;  // and a word that says "enrolled before"
  static constexpr std::uint64_t kWipedBytes = kIndexBytes + sizeof(kevt_self) * KEVT_MAX_THREADS;
  void set_target(RemoteAddr base, RemoteAddr priv, RemoteAddr index);
  RemoteAddr target() const { return target_; }
  kevt_shared& shared() const { return *reinterpret_cast<kevt_shared*>(local_); }

  // A kevt_event: where it is here and in the target.
  struct EventBlock {
    kevt_event* local = nullptr;
    RemoteAddr target;
    std::uint32_t row_offset = 0;  // ours: what stands in the shared block may be anything by now
  };
  // Fills a block in the code arena, all gates shut, and gives it counters.
  Result<EventBlock> add_event(kevt_event* local, RemoteAddr target, std::uint32_t sinks);

  // int3 sites and fault fix-ups: `value` 0 means "resume at the original instruction".
  Result<void> map_address(RemoteAddr key, RemoteAddr value);

  // KEVT_SHARED_WORDS of them, here; and where one is in the target.
  std::span<std::uint64_t> words() const;
  RemoteAddr word(std::uint64_t index) const { return target_ + words_at_ + 8 * index; }

  // Sum of one counter row over all shards.
  kevt_counts counts(std::uint32_t row_offset) const;
  // The latest notes of who hit, for names of threads that are gone.
  std::span<const kevt_shard_owner> owners() const;

  // Hands out what is committed, oldest first per CPU, and gives the room back. Returns the number of records.
  std::size_t drain(const std::function<void(const RawRecord&)>& use);
  // Once no thread of the target is left: steps over reservations that were never committed.
  // Returns how many were skipped.
  std::size_t drain_abandoned(const std::function<void(const RawRecord&)>& use);
  // Whether a ring holds anything, committed or only reserved: after a drain, a hit is under way.
  bool has_records() const;

 private:
  SessionMemory() = default;
  kevt_ring& ring(std::uint32_t cpu) const;
  std::uint8_t* ring_data(std::uint32_t cpu) const;
  void give_back(kevt_ring& ring, std::uint64_t position) const;
  std::size_t drain_ring(std::uint32_t cpu, const std::function<void(const RawRecord&)>& use);
  std::uint64_t find_resume(std::uint32_t cpu, std::uint64_t from, std::uint64_t head) const;

  UniqueFd fd_;
  std::uint8_t* local_ = nullptr;
  std::uint64_t span_ = 0;
  std::vector<MapPiece> plan_;
  RemoteAddr target_;
  SessionOptions options_;
  std::uint32_t ring_count_ = 0;
  std::uint64_t ring_stride_ = 0, shard_bytes_ = 0;  // never read back from the target's memory
  std::uint64_t owners_at_ = 0, words_at_ = 0, map_at_ = 0, counts_at_ = 0, rings_at_ = 0;
  std::uint32_t rows_used_ = 0;
};

// Bit i: instance i records. The extractor's `enter` goes to the agent while all are shut.
void set_gates(kevt_event& event, std::uint32_t gates);

// CPUs that may ever come online (/sys/devices/system/cpu/possible).
std::uint32_t possible_cpus();

}  // namespace kevt::inproc
