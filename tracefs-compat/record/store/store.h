// Store: a recording in memory as columns, for those who look at all of it again and again: timelines, tables,
// statistics.
//
// A StoreBuilder takes records in the order of time; view() is what there is now, and stays as it is. One thread
// builds, any number read views.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store_chunk.h"
#include "tracefs-compat/record/store/store_pairs.h"

namespace kevt::record {

struct StoreTask {
  std::int32_t pid = 0;
  std::string comm;
  std::uint32_t instance = 0;      // as TypedRecord::instance
  std::string instance_name = {};  // empty: the top one

  std::string title() const;  // "python3-4711", "web1: python3-4711"
};

// Records that were lost on a CPU between two that are there.
struct StoreGap {
  Row row = 0;  // the first one behind it
  std::uint32_t cpu = 0;
  std::uint64_t from_ns = 0, to_ns = 0;
  std::uint64_t count = 0;  // ~0: unknown
};

// What of a store does not grow with every record; copied when it changes.
struct StoreNames {
  std::vector<std::shared_ptr<const EventFormat>> events;  // a record's event is an index into it
  std::vector<StoreTask> tasks;
  std::vector<std::uint32_t> cpus;  // ascending
  std::vector<StoreGap> gaps;
};

class StoreView {
 public:
  StoreView() = default;
  Row rows() const { return rows_; }
  bool empty() const { return rows_ == 0; }
  std::uint64_t first_ns() const { return empty() ? 0 : chunks_.front()->base_ns; }
  std::uint64_t last_ns() const { return empty() ? 0 : chunks_.back()->last_ns(); }
  const StoreNames& names() const { return *names_; }
  const std::vector<std::shared_ptr<const StoreChunk>>& chunks() const { return chunks_; }

  // `row` < rows().
  std::uint64_t time_ns(Row row) const { return at(row).first->time_ns(at(row).second); }
  std::uint32_t event(Row row) const { return at(row).first->event[at(row).second]; }
  std::uint32_t cpu(Row row) const { return at(row).first->cpu_of(at(row).second); }
  std::uint32_t task(Row row) const { return at(row).first->task_of(at(row).second); }
  std::uint32_t depth(Row row) const { return at(row).first->depth(at(row).second); }
  std::span<const std::uint8_t> bytes(Row row) const { return at(row).first->bytes(at(row).second); }
  // The other end of its slice; kNoRow: none, or not there yet.
  Row match(Row row) const;
  const EventFormat& format(Row row) const { return *names_->events[event(row)]; }
  TypedRecord typed(Row row) const;

  // First record at or behind the time; rows() when there is none.
  Row lower_bound(std::uint64_t ns) const;
  std::size_t chunk_of(Row row) const;

  std::size_t index_bytes() const;
  std::size_t payload_bytes() const;

 private:
  friend class StoreBuilder;
  std::pair<const StoreChunk*, std::uint32_t> at(Row row) const {
    const StoreChunk* chunk = chunks_[chunk_of(row)].get();
    return {chunk, row - chunk->first_row};
  }

  std::vector<std::shared_ptr<const StoreChunk>> chunks_;
  std::vector<Row> first_rows_;
  std::shared_ptr<const StoreNames> names_ = std::make_shared<StoreNames>();
  Row rows_ = 0;
};

class StoreBuilder {
 public:
  // `most_bytes`: of memory, for all that is added; a few of them may be more.
  explicit StoreBuilder(std::uint64_t most_bytes = ~0ull);
  // Times that go backwards become the last one's. `instance_name`: of the record's instance. False: there is no room
  // for it, or 2^32 - 1 records are there.
  bool add(const TypedRecord& record, std::string_view instance_name = {});
  Row rows() const { return open_->first_row + open_->rows(); }
  std::uint64_t cut_records() const { return cut_; }      // longer than kMaxStoredBytes
  std::uint64_t moved_records() const { return moved_; }  // came too late
  StoreView view();

 private:
  struct EventState {
    PairRule rule;
    std::uint32_t index = 0;
  };
  const EventState& event_of(const EventFormat& format);
  std::uint32_t task_of(const TypedRecord& record, std::string_view instance_name);
  bool has_room(std::uint64_t time_ns, std::uint32_t cpu) const;
  void start_chunk();
  void seal();
  void pair(const EventState& event, Row row, std::uint64_t time_ns, std::uint32_t task,
            std::span<const std::uint8_t> bytes);
  void note_gap(const TypedRecord& record, std::uint64_t time_ns, Row row);
  StoreChunk& chunk_of(Row row);

  std::vector<std::shared_ptr<StoreChunk>> sealed_;
  std::shared_ptr<StoreChunk> open_;
  std::vector<std::uint8_t> local_cpu_;                          // by CPU + 1, of the open chunk; 0: not there yet
  std::unordered_map<std::uint32_t, std::uint16_t> local_task_;  // of the open chunk
  StoreNames names_;
  std::shared_ptr<const StoreNames> shared_names_;  // empty: names_ changed
  std::unordered_map<const EventFormat*, EventState> events_;
  std::unordered_map<std::uint64_t, std::uint32_t> tasks_;  // by TypedRecord::thread()
  std::vector<std::uint64_t> last_on_cpu_;
  SlicePairs pairs_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t cut_ = 0, moved_ = 0;
  std::uint64_t most_bytes_, sealed_bytes_ = 0;
};

// Fills order, groups, ends and slice_groups. `start_ns_of` gives the time of any row before the chunk's end.
void index_chunk(StoreChunk& chunk, const std::function<std::uint64_t(Row)>& start_ns_of);

}  // namespace kevt::record
