// StoreChunk: up to 65536 records as columns, in the order of time, with the indexes lanes are drawn from.
//
// Index of a record, without its bytes: time 4, size and depth 2, event 2, CPU 1, task 2, place in three lanes 6,
// partner 4, place among the slices 2 (returns only): 23 bytes and what the directories of a chunk take.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kevt::record {

using Row = std::uint32_t;  // position of a record in the order of time, in the whole store
inline constexpr Row kNoRow = ~0u;
inline constexpr std::uint32_t kChunkRows = 65536;
inline constexpr std::uint32_t kMaxStoredBytes = 4095;  // of one record; longer ones are cut
inline constexpr std::uint32_t kMaxDepth = 15;          // deeper slices are drawn at this depth

// What a lane gathers records by.
enum class Axis : std::uint8_t { Cpu, Task, Event };
inline constexpr std::size_t kAxes = 3;

struct StoreChunk {
  // The records of one lane in this chunk: order[axis][begin … end).
  struct Group {
    std::uint32_t id = 0;
    std::uint32_t begin = 0, end = 0;
  };
  // Slices that end in this chunk, of one task, whose duration has `bucket` bits: ends[begin … end).
  struct SliceGroup {
    std::uint32_t task = 0;
    std::uint16_t bucket = 0;
    std::uint16_t deepest = 0;
    std::uint32_t begin = 0, end = 0;
    std::uint64_t first_start_ns = 0;
  };

  Row first_row = 0;
  std::uint64_t base_ns = 0;
  std::vector<std::uint32_t> delta_ns;
  std::vector<std::uint16_t> size_depth;  // size | depth << 12
  std::vector<std::uint16_t> event;
  std::vector<std::uint8_t> cpu;    // into cpus
  std::vector<std::uint16_t> task;  // into tasks
  std::vector<std::uint32_t> cpus, tasks;
  std::vector<std::uint8_t> payload;
  std::vector<std::uint32_t> payload_at;                // of every 64th record
  std::unique_ptr<std::atomic<std::uint32_t>[]> match;  // the other end of a slice; grows known while others read

  // Made by index().
  std::array<std::vector<std::uint16_t>, kAxes> order;
  std::array<std::vector<Group>, kAxes> groups;  // by id
  std::vector<std::uint16_t> ends;
  std::vector<SliceGroup> slice_groups;  // by task, then bucket

  std::uint32_t rows() const { return static_cast<std::uint32_t>(delta_ns.size()); }
  std::uint64_t time_ns(std::uint32_t row) const { return base_ns + delta_ns[row]; }
  std::uint64_t last_ns() const { return time_ns(rows() - 1); }
  std::uint32_t cpu_of(std::uint32_t row) const { return cpus[cpu[row]]; }
  std::uint32_t task_of(std::uint32_t row) const { return tasks[task[row]]; }
  std::uint32_t depth(std::uint32_t row) const { return size_depth[row] >> 12; }
  std::span<const std::uint8_t> bytes(std::uint32_t row) const;
  Row match_of(std::uint32_t row) const { return match[row].load(std::memory_order_relaxed); }
  std::span<const std::uint16_t> lane(Axis axis, std::uint32_t id) const;
  // First record at or behind the time; rows() when there is none.
  std::uint32_t lower_bound(std::uint64_t ns) const;

  // Bytes of all columns and indexes, without the records' own.
  std::size_t index_bytes() const;
};

}  // namespace kevt::record
