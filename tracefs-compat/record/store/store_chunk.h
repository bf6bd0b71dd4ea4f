// StoreChunk: up to 65536 records as columns, in the order of time, with the indexes lanes are drawn from.
//
// Its columns lie in one block, in memory or in a mapped file (spill_file.h). Index of a record there, without its
// bytes: time 4, size and depth 2, event 2, CPU 1, task 2, place in three lanes 6, partner 4, place among the slices 2
// (returns only): 23 bytes. What a screen asks every chunk for (its directories and its times) is always in memory:
// about half a byte a record.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/distinct_values.h"

namespace kevt::record {

using Row = std::uint32_t;  // position of a record in the order of time, in the whole store
inline constexpr Row kNoRow = ~0u;
inline constexpr std::uint32_t kChunkRows = 65536;
inline constexpr std::uint32_t kChunkPayload = 16 << 20;  // bytes of records after which a chunk is full
inline constexpr std::uint32_t kMaxStoredBytes = 4095;    // of one record; longer ones are cut
inline constexpr std::uint32_t kMaxDepth = 15;            // deeper slices are drawn at this depth

// Which chunk has the row, `first_rows` being theirs (one at least), ascending; a row behind the last chunk is the last
// one's. Chunks are full as a rule, so the row's number tells its chunk; it is never an earlier one.
inline std::size_t chunk_with(std::span<const Row> first_rows, Row row) {
  const std::size_t guess = std::min<std::size_t>(row / kChunkRows, first_rows.size() - 1);
  if (guess + 1 == first_rows.size() || row < first_rows[guess + 1]) return guess;
  const auto behind =
      std::upper_bound(first_rows.begin() + static_cast<std::ptrdiff_t>(guess) + 1, first_rows.end(), row);
  return static_cast<std::size_t>(behind - first_rows.begin()) - 1;
}

// What a lane gathers records by.
enum class Axis : std::uint8_t { Cpu, Task, Event };
inline constexpr std::size_t kAxes = 3;

// The records of one lane in a chunk: places[begin … end) of its axis.
struct LaneGroup {
  std::uint32_t id = 0;
  std::uint32_t begin = 0, end = 0;
};
using LaneGroups = std::vector<LaneGroup>;  // by id
// Those of the lane; empty when it has none.
std::span<const std::uint16_t> lane_of(std::span<const LaneGroup> groups, std::span<const std::uint16_t> places,
                                       std::uint32_t id);

struct StoreChunk {
  // Slices that end in this chunk, of one task, whose duration has `bucket` bits: ends[begin … end).
  struct SliceGroup {
    std::uint32_t task = 0;
    std::uint16_t bucket = 0;
    std::uint16_t deepest = 0;
    std::uint32_t begin = 0, end = 0;
    std::uint64_t first_start_ns = 0;
  };
  struct Shape {
    std::uint32_t rows = 0, ends = 0, payload = 0;  // payload: bytes
  };

  Row first_row = 0;
  std::uint64_t base_ns = 0, end_ns = 0;  // times of the first and the last record
  Shape shape;
  std::vector<std::uint32_t> cpus, tasks;
  std::array<LaneGroups, kAxes> groups;
  std::vector<SliceGroup> slice_groups;  // by task, then bucket
  std::vector<DistinctValues> distinct;  // distinct_values(); empty in a chunk that is still filling

  // Columns, in the block.
  std::span<std::uint32_t> match;  // the other end of a slice; grows known while others read: match_of()
  std::span<std::uint32_t> delta_ns;
  std::span<std::uint32_t> payload_at;  // of every 64th record
  std::span<std::uint16_t> size_depth;  // size | depth << 12
  std::span<std::uint16_t> event;
  std::span<std::uint16_t> task;  // into tasks
  std::array<std::span<std::uint16_t>, kAxes> order;
  std::span<std::uint16_t> ends;
  std::span<std::uint8_t> cpu;  // into cpus
  std::span<std::uint8_t> payload;
  std::shared_ptr<std::byte> block;
  bool is_in_file = false;    // then the block is only to be read
  std::uint64_t file_at = 0;  // byte of the file at which the block begins

  static std::size_t block_bytes(const Shape& shape);
  // The columns are those of the block, which has block_bytes(shape).
  void lay_out(std::shared_ptr<std::byte> in);

  std::uint32_t rows() const { return shape.rows; }
  std::uint64_t time_ns(std::uint32_t row) const { return base_ns + delta_ns[row]; }
  std::uint64_t last_ns() const { return end_ns; }
  std::uint32_t cpu_of(std::uint32_t row) const { return cpus[cpu[row]]; }
  std::uint32_t task_of(std::uint32_t row) const { return tasks[task[row]]; }
  std::uint32_t depth(std::uint32_t row) const { return size_depth[row] >> 12; }
  std::span<const std::uint8_t> bytes(std::uint32_t row) const;
  // Where the bytes of the records from `first` on, a multiple of 64, begin in `payload`: of as many as `begins` has
  // room for.
  void payload_begins(std::uint32_t first, std::span<std::uint32_t> begins) const;
  std::span<const std::uint8_t> bytes_from(std::uint32_t begin, std::uint32_t row) const {
    return payload.subspan(begin, size_depth[row] & kMaxStoredBytes);
  }
  Row match_of(std::uint32_t row) const { return std::atomic_ref(match[row]).load(std::memory_order_relaxed); }
  std::span<const std::uint16_t> lane(Axis axis, std::uint32_t id) const;
  // A record of each value that the field, one of the event's, has; empty: there are many, or that is not known.
  std::span<const std::uint16_t> rows_of_values(std::uint32_t event, const Field& field) const;
  // The same of common_flags and common_preempt_count together.
  std::span<const std::uint16_t> rows_of_flags(std::uint32_t event) const;
  // First record at or behind the time; rows() when there is none.
  std::uint32_t lower_bound(std::uint64_t ns) const;

  // Bytes of all columns and indexes, without the records' own; and of what is in memory whatever the block is in.
  std::size_t index_bytes() const;
  std::size_t directory_bytes() const;
};

}  // namespace kevt::record
