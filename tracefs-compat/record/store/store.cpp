// The store: records become columns, chunk by chunk.
//
// Problem: ten million records, looked at sixty times a second from every side, and while more arrive. Idea: chunks of
// up to 65536 records that never change once they are full. Within a chunk every lane (a CPU, a task, an event) has its
// records as 16-bit places in the order of time, so "how many between two times" is two binary searches per chunk, at
// any zoom. What changes later is one word per record, its partner: a return that arrives chunks after its entry.
// view() copies the chunk that is still filling; a reader never waits.
#include "tracefs-compat/record/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "common/assert.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kTaskBytes = 256;  // of a task: its name, its stack of open slices, its places in tables

}  // namespace

// ---- view

std::size_t StoreView::chunk_of(Row row) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_rows_, row) - first_rows_.begin()) - 1;
}

Row StoreView::match(Row row) const {
  const auto [chunk, local] = at(row);
  const Row other = chunk->match_of(local);
  return other < rows_ ? other : kNoRow;
}

TypedRecord StoreView::typed(Row row) const {
  const auto [chunk, local] = at(row);
  const StoreTask& task = names_->tasks[chunk->task_of(local)];
  return {.event = names_->events[chunk->event[local]].get(),
          .time_ns = chunk->time_ns(local),
          .cpu = chunk->cpu_of(local),
          .pid = task.pid,
          .comm = task.comm,
          .bytes = chunk->bytes(local),
          .instance = task.instance};
}

Row StoreView::lower_bound(std::uint64_t ns) const {
  const auto behind = std::ranges::partition_point(chunks_, [&](const auto& chunk) { return chunk->last_ns() < ns; });
  if (behind == chunks_.end()) return rows_;
  return (*behind)->first_row + (*behind)->lower_bound(ns);
}

std::size_t StoreView::index_bytes() const {
  return std::transform_reduce(chunks_.begin(), chunks_.end(), std::size_t{0}, std::plus<>(),
                               [](const auto& chunk) { return chunk->index_bytes(); });
}

std::size_t StoreView::payload_bytes() const {
  return std::transform_reduce(chunks_.begin(), chunks_.end(), std::size_t{0}, std::plus<>(),
                               [](const auto& chunk) { return chunk->payload.size(); });
}

// ---- builder

StoreBuilder::StoreBuilder(std::uint64_t most_bytes) : most_bytes_(most_bytes) { start_chunk(); }

void StoreBuilder::start_chunk() {
  const Row first = open_ ? rows() : 0;
  open_ = std::make_shared<StoreChunk>();
  open_->first_row = first;
  open_->match = std::make_unique<std::atomic<std::uint32_t>[]>(kChunkRows);
  std::ranges::fill(local_cpu_, 0);
  local_task_.clear();
}

const StoreBuilder::EventState& StoreBuilder::event_of(const EventFormat& format) {
  const auto found = events_.find(&format);
  if (found != events_.end()) return found->second;
  // Fields point into the copy, which lives as long as any view of the store.
  names_.events.push_back(std::make_shared<EventFormat>(format));
  shared_names_.reset();
  const auto index = static_cast<std::uint32_t>(names_.events.size() - 1);
  return events_.emplace(&format, EventState{pair_rule(*names_.events.back()), index}).first->second;
}

std::string StoreTask::title() const {
  return fmt::format("{}{}{}-{}", instance_name, instance_name.empty() ? "" : ": ", comm, pid);
}

std::uint32_t StoreBuilder::task_of(const TypedRecord& record, std::string_view instance_name) {
  const auto [found, is_new] = tasks_.emplace(record.thread(), static_cast<std::uint32_t>(names_.tasks.size()));
  if (is_new) {
    names_.tasks.push_back({record.pid, std::string(record.comm), record.instance, std::string(instance_name)});
    shared_names_.reset();
  } else if (StoreTask& task = names_.tasks[found->second]; task.comm != record.comm && record.comm != "<...>") {
    task.comm = record.comm;
    shared_names_.reset();
  }
  return found->second;
}

bool StoreBuilder::has_room(std::uint64_t time_ns, std::uint32_t cpu) const {
  if (open_->rows() == 0) return true;
  const bool knows_cpu = cpu < local_cpu_.size() && local_cpu_[cpu] != 0;
  return open_->rows() < kChunkRows && time_ns - open_->base_ns <= ~0u && (knows_cpu || open_->cpus.size() < 255);
}

bool StoreBuilder::add(const TypedRecord& record, std::string_view instance_name) {
  if (rows() == kNoRow - 1) return false;
  const std::uint64_t names_bytes = kTaskBytes * names_.tasks.size() + sizeof(StoreGap) * names_.gaps.size();
  if (sealed_bytes_ + open_->payload.size() + names_bytes > most_bytes_) return false;
  const EventState& event = event_of(*record.event);
  if (event.index > 0xffff) return false;
  const std::uint32_t task = task_of(record, instance_name);
  if (record.time_ns < last_ns_ && rows() != 0) ++moved_;
  const std::uint64_t time_ns = rows() == 0 ? record.time_ns : std::max(record.time_ns, last_ns_);
  last_ns_ = time_ns;
  const std::uint32_t cpu = std::min<std::uint32_t>(record.cpu, 0xffff);
  if (!has_room(time_ns, cpu)) seal();

  StoreChunk& chunk = *open_;
  const std::uint32_t local = chunk.rows();
  if (local == 0) chunk.base_ns = time_ns;
  if (cpu >= local_cpu_.size()) {
    local_cpu_.resize(cpu + 1);
    last_on_cpu_.resize(cpu + 1);
  }
  if (local_cpu_[cpu] == 0) {
    chunk.cpus.push_back(cpu);
    local_cpu_[cpu] = static_cast<std::uint8_t>(chunk.cpus.size());
    const auto place = std::ranges::lower_bound(names_.cpus, cpu);
    if (place == names_.cpus.end() || *place != cpu) {
      names_.cpus.insert(place, cpu);
      shared_names_.reset();
    }
  }
  const auto [local_task, is_new] = local_task_.emplace(task, static_cast<std::uint16_t>(chunk.tasks.size()));
  if (is_new) chunk.tasks.push_back(task);

  const auto bytes = record.bytes.first(std::min<std::size_t>(record.bytes.size(), kMaxStoredBytes));
  if (bytes.size() != record.bytes.size()) ++cut_;
  if (local % 64 == 0) chunk.payload_at.push_back(static_cast<std::uint32_t>(chunk.payload.size()));
  chunk.payload.insert(chunk.payload.end(), bytes.begin(), bytes.end());
  chunk.delta_ns.push_back(static_cast<std::uint32_t>(time_ns - chunk.base_ns));
  chunk.size_depth.push_back(static_cast<std::uint16_t>(bytes.size()));
  chunk.event.push_back(static_cast<std::uint16_t>(event.index));
  chunk.cpu.push_back(static_cast<std::uint8_t>(local_cpu_[cpu] - 1));
  chunk.task.push_back(local_task->second);
  chunk.match[local].store(kNoRow, std::memory_order_relaxed);
  const Row row = chunk.first_row + local;
  if (record.lost_before) note_gap(record, time_ns, row);
  last_on_cpu_[cpu] = time_ns;
  pair(event, row, time_ns, task, bytes);
  return true;
}

void StoreBuilder::note_gap(const TypedRecord& record, std::uint64_t time_ns, Row row) {
  const std::uint64_t before = last_on_cpu_[std::min<std::uint32_t>(record.cpu, 0xffff)];
  names_.gaps.push_back({.row = row,
                         .cpu = record.cpu,
                         .from_ns = before ? before : time_ns,
                         .to_ns = time_ns,
                         .count = record.lost_before});
  shared_names_.reset();
}

StoreChunk& StoreBuilder::chunk_of(Row row) {
  if (row >= open_->first_row) return *open_;
  const auto behind = std::ranges::upper_bound(sealed_, row, {}, [](const auto& chunk) { return chunk->first_row; });
  return **std::prev(behind);
}

void StoreBuilder::pair(const EventState& event, Row row, std::uint64_t time_ns, std::uint32_t task,
                        std::span<const std::uint8_t> bytes) {
  if (event.rule.role == PairRule::Role::None) return;
  const SlicePairs::Step step{row, time_ns, task, event.index, pair_key(event.rule, bytes)};
  std::uint32_t depth = 0;
  if (event.rule.role == PairRule::Role::Opens) {
    depth = pairs_.open(step).depth;
  } else if (const auto closed = pairs_.close(step)) {
    depth = closed->depth;
    StoreChunk& begin = chunk_of(closed->begin);
    begin.match[closed->begin - begin.first_row].store(row, std::memory_order_relaxed);
    open_->match[row - open_->first_row].store(closed->begin, std::memory_order_relaxed);
  }
  open_->size_depth.back() |= static_cast<std::uint16_t>(depth << 12);
}

void StoreBuilder::seal() {
  KEVT_ASSERT(open_->rows() > 0);
  index_chunk(*open_, [this](Row row) {
    const StoreChunk& chunk = chunk_of(row);
    return chunk.time_ns(row - chunk.first_row);
  });
  StoreChunk& chunk = *open_;
  chunk.payload.shrink_to_fit();
  chunk.delta_ns.shrink_to_fit();
  chunk.size_depth.shrink_to_fit();
  chunk.event.shrink_to_fit();
  chunk.cpu.shrink_to_fit();
  chunk.task.shrink_to_fit();
  if (chunk.rows() < kChunkRows) {
    // Nobody else has seen the chunk yet.
    auto match = std::make_unique<std::atomic<std::uint32_t>[]>(chunk.rows());
    for (std::uint32_t row = 0; row < chunk.rows(); ++row) match[row].store(chunk.match_of(row));
    chunk.match = std::move(match);
  }
  sealed_bytes_ += chunk.index_bytes() + chunk.payload.size();
  sealed_.push_back(open_);
  start_chunk();
}

StoreView StoreBuilder::view() {
  StoreView view;
  view.chunks_.assign(sealed_.begin(), sealed_.end());
  if (open_->rows() > 0) {
    auto copy = std::make_shared<StoreChunk>();
    copy->first_row = open_->first_row;
    copy->base_ns = open_->base_ns;
    copy->delta_ns = open_->delta_ns;
    copy->size_depth = open_->size_depth;
    copy->event = open_->event;
    copy->cpu = open_->cpu;
    copy->task = open_->task;
    copy->cpus = open_->cpus;
    copy->tasks = open_->tasks;
    copy->payload = open_->payload;
    copy->payload_at = open_->payload_at;
    copy->match = std::make_unique<std::atomic<std::uint32_t>[]>(copy->rows());
    for (std::uint32_t row = 0; row < copy->rows(); ++row) copy->match[row].store(open_->match_of(row));
    index_chunk(*copy, [this](Row row) {
      const StoreChunk& chunk = chunk_of(row);
      return chunk.time_ns(row - chunk.first_row);
    });
    view.chunks_.push_back(std::move(copy));
  }
  for (const auto& chunk : view.chunks_) view.first_rows_.push_back(chunk->first_row);
  if (!shared_names_) shared_names_ = std::make_shared<StoreNames>(names_);
  view.names_ = shared_names_;
  view.rows_ = rows();
  return view;
}

}  // namespace kevt::record
