// Store: a recording as columns, in memory and in a mapped file, for those who look at all of it again and again:
// timelines, tables, statistics.
//
// A StoreBuilder takes records in the order of time; view() is what there is now, and stays as it is. One thread
// builds, any number read views.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/chunk_builder.h"
#include "tracefs-compat/record/store/spill_file.h"
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

// What is known of all records together, without looking at any.
struct StoreTotals {
  std::array<std::vector<std::uint64_t>, kAxes> records;  // of an axis, by the lane's id
  std::vector<std::uint8_t> levels;                       // of slices, by task
  std::vector<std::uint8_t> begins_slices;                // 1: of the event, by its index
  std::uint64_t of(Axis axis, std::uint32_t id) const {
    const auto& all = records[static_cast<std::size_t>(axis)];
    return id < all.size() ? all[id] : 0;
  }
};

// Full chunks, and where each begins; shared by all views that have the same.
struct StoreChunks {
  std::vector<std::shared_ptr<const StoreChunk>> all;
  std::vector<Row> first_rows;
};

class StoreView {
 public:
  StoreView() = default;
  Row rows() const { return rows_; }
  bool empty() const { return rows_ == 0; }
  std::uint64_t first_ns() const { return empty() ? 0 : chunks().front()->base_ns; }
  std::uint64_t last_ns() const { return empty() ? 0 : chunks().back()->last_ns(); }
  const StoreNames& names() const { return *names_; }
  const StoreTotals& totals() const { return *totals_; }
  const std::vector<std::shared_ptr<const StoreChunk>>& chunks() const { return chunks_->all; }

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
  std::size_t chunk_of(Row row) const { return chunk_with(chunks_->first_rows, row); }

  struct Size {
    std::uint64_t index = 0, payload = 0;  // bytes, wherever they are
    std::uint64_t in_memory = 0;           // of both; the rest is in a file
  };
  Size size() const;

 private:
  friend class StoreBuilder;
  std::pair<const StoreChunk*, std::uint32_t> at(Row row) const {
    const StoreChunk* chunk = chunks_->all[chunk_of(row)].get();
    return {chunk, row - chunk->first_row};
  }

  std::shared_ptr<const StoreChunks> chunks_ = std::make_shared<StoreChunks>();
  std::shared_ptr<const StoreNames> names_ = std::make_shared<StoreNames>();
  std::shared_ptr<const StoreTotals> totals_ = std::make_shared<StoreTotals>();
  Row rows_ = 0;
};

// Where a store keeps its records: the newest in memory, the rest in a file.
struct StoreRoom {
  std::uint64_t memory_bytes = ~0ull;       // beyond it the oldest chunks move to a file
  std::uint64_t most_memory_bytes = ~0ull;  // where no file can be had; a few bytes may be more
  std::string folder = {};                  // of the file
};

class StoreBuilder {
 public:
  explicit StoreBuilder(StoreRoom room = {});
  // Times that go backwards become the last one's. `instance_name`: of the record's instance. False: there is no room
  // for it, or 2^32 - 1 records are there.
  bool add(const TypedRecord& record, std::string_view instance_name = {});
  Row rows() const { return open_.first_row() + open_.rows(); }
  std::uint64_t cut_records() const { return cut_; }      // longer than kMaxStoredBytes
  std::uint64_t moved_records() const { return moved_; }  // came too late
  // Why nothing can be written into the file; empty: nothing had to be, or it went well.
  const std::string& file_problem() const { return file_problem_; }
  std::uint64_t file_bytes() const { return file_ ? file_->bytes() : 0; }
  StoreView view();

 private:
  struct EventState {
    PairRule rule;
    std::uint32_t index = 0;
  };
  const EventState& event_of(const EventFormat& format);
  std::uint32_t task_of(const TypedRecord& record, std::string_view instance_name);
  void seal();
  void move_to_file();
  std::uint64_t bytes_in_memory() const;
  void pair(const EventState& event, const SlicePairs::Step& step);
  void note_gap(const TypedRecord& record, std::uint64_t time_ns, Row row);
  std::uint64_t time_ns(Row row);
  void set_match(Row row, Row other);
  StoreChunk& sealed_chunk_of(Row row);

  StoreRoom room_;
  std::vector<std::shared_ptr<StoreChunk>> sealed_;
  std::size_t in_file_ = 0;         // of sealed_, the first ones
  std::uint64_t sealed_bytes_ = 0;  // in memory
  ChunkBuilder open_;
  std::unique_ptr<SpillFile> file_;
  std::string file_problem_;
  StoreNames names_;
  StoreTotals totals_;
  std::shared_ptr<const StoreNames> shared_names_;  // empty: names_ changed
  std::unordered_map<const EventFormat*, EventState> events_;
  std::unordered_map<std::uint64_t, std::uint32_t> tasks_;          // by TypedRecord::thread()
  std::pair<std::uint64_t, std::uint32_t> last_task_ = {~0ull, 0};  // of tasks_
  std::vector<std::uint64_t> last_on_cpu_;
  SlicePairs pairs_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t cut_ = 0, moved_ = 0;
};

}  // namespace kevt::record
