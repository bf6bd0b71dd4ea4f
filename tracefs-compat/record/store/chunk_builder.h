// ChunkBuilder: the chunk of a store that is still being filled.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {

class ChunkBuilder {
 public:
  struct Record {
    std::uint64_t time_ns = 0;  // not before the last one's
    std::uint32_t event = 0, cpu = 0, task = 0;
    std::span<const std::uint8_t> bytes;  // kMaxStoredBytes at most
  };

  // Whether the record still belongs into this chunk.
  bool has_room(const Record& record) const;
  void add(const Record& record);
  // The next chunk, empty.
  void start(Row first_row);

  Row first_row() const { return first_row_; }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(delta_ns_.size()); }
  std::uint64_t time_ns(std::uint32_t row) const { return base_ns_ + delta_ns_[row]; }
  std::size_t payload_bytes() const { return payload_.size(); }
  void set_match(std::uint32_t row, Row other) { match_[row] = other; }
  void set_last_depth(std::uint32_t depth);

  // A chunk of the records that are there, in memory, with its indexes. There is one at least. `start_ns_of` gives the
  // time of any row before the chunk's end.
  std::shared_ptr<StoreChunk> freeze(const std::function<std::uint64_t(Row)>& start_ns_of) const;

 private:
  Row first_row_ = 0;
  std::uint64_t base_ns_ = 0;
  std::vector<std::uint32_t> match_, delta_ns_, payload_at_, cpus_, tasks_;
  std::vector<std::uint16_t> size_depth_, event_, task_;
  std::vector<std::uint8_t> cpu_, payload_;
  std::vector<std::uint8_t> local_cpu_;    // by CPU: its place in cpus_ + 1; 0: not there yet
  std::vector<std::uint32_t> local_task_;  // by task: its place in tasks_ + 1
};

}  // namespace kevt::record
