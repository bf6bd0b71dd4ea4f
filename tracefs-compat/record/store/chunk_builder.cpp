// Records become a chunk: columns, records by lane, slices by task and duration.
//
// Slices are kept by the bits of their duration: of those that end here, who draws at P ns per pixel takes the buckets
// from P on, each sorted by its end. They do not overlap at one depth, so there are never more of them in a window than
// it has pixels (times the depth), however many shorter ones there are.
#include "tracefs-compat/record/store/chunk_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "common/assert.h"
#include "tracefs-compat/record/store/lane_order.h"

namespace kevt::record {
namespace {

struct EndingSlice {
  std::uint32_t task, bucket;
  std::uint64_t start_ns;
  std::uint16_t row;
};

std::vector<EndingSlice> ending_slices(std::span<const Row> match, const std::function<EndingSlice(std::uint32_t)>& of,
                                       Row first_row) {
  std::vector<EndingSlice> slices;
  for (std::uint32_t row = 0; row < match.size(); ++row)
    if (match[row] < first_row + row) slices.push_back(of(row));  // else none, or an entry
  std::ranges::stable_sort(slices, [](const EndingSlice& a, const EndingSlice& b) {
    return std::pair(a.task, a.bucket) < std::pair(b.task, b.bucket);
  });
  return slices;
}

void index_slices(StoreChunk& chunk, std::span<const EndingSlice> slices) {
  for (std::uint32_t at = 0; at < slices.size(); ++at) {
    const EndingSlice& slice = slices[at];
    if (chunk.slice_groups.empty() || chunk.slice_groups.back().task != slice.task ||
        chunk.slice_groups.back().bucket != slice.bucket)
      chunk.slice_groups.push_back({slice.task, static_cast<std::uint16_t>(slice.bucket), 0, at, at, slice.start_ns});
    StoreChunk::SliceGroup& group = chunk.slice_groups.back();
    group.end = at + 1;
    group.first_start_ns = std::min(group.first_start_ns, slice.start_ns);
    group.deepest = std::max<std::uint16_t>(group.deepest, static_cast<std::uint16_t>(chunk.depth(slice.row)));
    chunk.ends[at] = slice.row;
  }
  chunk.slice_groups.shrink_to_fit();
}

template <typename T>
void copy(const std::vector<T>& from, std::span<T> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
}

}  // namespace

void ChunkBuilder::start(Row first_row) {
  first_row_ = first_row;
  for (const std::uint32_t cpu : cpus_) local_cpu_[cpu] = 0;
  for (const std::uint32_t task : tasks_) local_task_[task] = 0;
  for (auto* column : {&match_, &delta_ns_, &payload_at_, &cpus_, &tasks_}) column->clear();
  for (auto* column : {&size_depth_, &event_, &task_}) column->clear();
  for (auto* column : {&cpu_, &payload_}) column->clear();
}

bool ChunkBuilder::has_room(const Record& record) const {
  if (rows() == 0) return true;
  const bool knows_cpu = record.cpu < local_cpu_.size() && local_cpu_[record.cpu] != 0;
  return rows() < kChunkRows && payload_.size() < kChunkPayload && record.time_ns - base_ns_ <= ~0u &&
         (knows_cpu || cpus_.size() < 255);
}

void ChunkBuilder::add(const Record& record) {
  if (rows() == 0) base_ns_ = record.time_ns;
  if (record.cpu >= local_cpu_.size()) local_cpu_.resize(record.cpu + 1);
  std::uint8_t& local_cpu = local_cpu_[record.cpu];
  if (local_cpu == 0) {
    cpus_.push_back(record.cpu);
    local_cpu = static_cast<std::uint8_t>(cpus_.size());
  }
  if (record.task >= local_task_.size()) local_task_.resize(record.task + 1);
  std::uint32_t& local_task = local_task_[record.task];
  if (local_task == 0) {
    tasks_.push_back(record.task);
    local_task = static_cast<std::uint32_t>(tasks_.size());
  }
  if (rows() % 64 == 0) payload_at_.push_back(static_cast<std::uint32_t>(payload_.size()));
  payload_.insert(payload_.end(), record.bytes.begin(), record.bytes.end());
  delta_ns_.push_back(static_cast<std::uint32_t>(record.time_ns - base_ns_));
  size_depth_.push_back(static_cast<std::uint16_t>(record.bytes.size()));
  event_.push_back(static_cast<std::uint16_t>(record.event));
  cpu_.push_back(static_cast<std::uint8_t>(local_cpu - 1));
  task_.push_back(static_cast<std::uint16_t>(local_task - 1));
  match_.push_back(kNoRow);
}

void ChunkBuilder::set_last_depth(std::uint32_t depth) {
  size_depth_.back() |= static_cast<std::uint16_t>(depth << 12);
}

std::shared_ptr<StoreChunk> ChunkBuilder::freeze(const std::function<std::uint64_t(Row)>& start_ns_of) const {
  KEVT_ASSERT(rows() > 0);
  auto chunk = std::make_shared<StoreChunk>();
  chunk->first_row = first_row_;
  chunk->base_ns = base_ns_;
  chunk->end_ns = time_ns(rows() - 1);
  chunk->cpus = cpus_;
  chunk->tasks = tasks_;
  const auto slices = ending_slices(
      match_,
      [&](std::uint32_t row) {
        const std::uint64_t start = start_ns_of(match_[row]);
        const auto bucket = static_cast<std::uint32_t>(std::bit_width(time_ns(row) - start));
        return EndingSlice{tasks_[task_[row]], bucket, start, static_cast<std::uint16_t>(row)};
      },
      first_row_);
  chunk->shape = {rows(), static_cast<std::uint32_t>(slices.size()), static_cast<std::uint32_t>(payload_.size())};
  chunk->lay_out({new std::byte[StoreChunk::block_bytes(chunk->shape)], std::default_delete<std::byte[]>()});
  copy(match_, chunk->match);
  copy(delta_ns_, chunk->delta_ns);
  copy(payload_at_, chunk->payload_at);
  copy(size_depth_, chunk->size_depth);
  copy(event_, chunk->event);
  copy(task_, chunk->task);
  copy(cpu_, chunk->cpu);
  copy(payload_, chunk->payload);
  const auto order = [&](Axis axis, std::span<const std::uint32_t> ids, const auto& key_of) {
    const auto at = static_cast<std::size_t>(axis);
    order_by_lane(
        ids, rows(), key_of, [](std::uint32_t i) { return i; }, chunk->groups[at], chunk->order[at]);
  };
  order(Axis::Cpu, cpus_, [&](std::uint32_t row) { return cpu_[row]; });
  order(Axis::Task, tasks_, [&](std::uint32_t row) { return task_[row]; });
  std::vector<std::uint32_t> events(*std::ranges::max_element(event_) + 1u);
  std::iota(events.begin(), events.end(), 0u);
  order(Axis::Event, events, [&](std::uint32_t row) { return event_[row]; });
  index_slices(*chunk, slices);
  return chunk;
}

}  // namespace kevt::record
