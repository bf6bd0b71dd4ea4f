// The store: records become columns, chunk by chunk.
//
// Problem: a hundred million records, looked at sixty times a second from every side, and while more arrive. Idea:
// chunks of up to 65536 records that never change once they are full. Within a chunk every lane (a CPU, a task, an
// event) has its records as 16-bit places in the order of time, so "how many between two times" is two binary searches
// per chunk, at any zoom. What changes later is one word per record, its partner: a return that arrives chunks after
// its entry. view() copies the chunk that is still filling; a reader waits for no lock, and for
// the disk only where the kernel has taken a page of the file back.
//
// The newest chunks are in memory. When these take more than they may, the oldest moves to a file: the same columns,
// mapped, so nobody who reads them knows. Views that were there before keep the one in memory until they go, without
// the partners that become known later.
#include "tracefs-compat/record/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/assert.h"

namespace kevt::record {
namespace {

constexpr std::size_t kSealsUntilNextTry = 64;  // after the file could not be written
constexpr std::uint64_t kTaskBytes = 256;       // of a task: its name, its stack of open slices, its places in tables

// The element, which is made when it is not there.
template <typename T>
T& at_least(std::vector<T>& all, std::uint32_t at) {
  if (at >= all.size()) all.resize(at + 1);
  return all[at];
}

}  // namespace

// ---- view

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
  const auto behind = std::ranges::partition_point(chunks(), [&](const auto& chunk) { return chunk->last_ns() < ns; });
  if (behind == chunks().end()) return rows_;
  return (*behind)->first_row + (*behind)->lower_bound(ns);
}

StoreView::Size StoreView::size() const {
  Size sum;
  for (const auto& chunk : chunks()) {
    sum.index += chunk->index_bytes();
    sum.payload += chunk->payload.size();
    sum.in_memory += chunk->is_in_file ? chunk->directory_bytes() : chunk->index_bytes() + chunk->payload.size();
  }
  return sum;
}

// ---- builder

StoreBuilder::StoreBuilder(StoreRoom room) : room_(std::move(room)) {}

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
  if (last_task_.first != record.thread()) {
    const auto [found, is_new] = tasks_.emplace(record.thread(), static_cast<std::uint32_t>(names_.tasks.size()));
    if (is_new) {
      names_.tasks.push_back({record.pid, std::string(record.comm), record.instance, std::string(instance_name)});
      shared_names_.reset();
    }
    last_task_ = *found;
  }
  StoreTask& task = names_.tasks[last_task_.second];
  if (task.comm != record.comm && record.comm != "<...>") {
    task.comm = record.comm;
    shared_names_.reset();
  }
  return last_task_.second;
}

std::uint64_t StoreBuilder::bytes_in_memory() const {
  return sealed_bytes_ + open_.payload_bytes() + kTaskBytes * names_.tasks.size() +
         sizeof(StoreGap) * names_.gaps.size();
}

bool StoreBuilder::add(const TypedRecord& record, std::string_view instance_name) {
  if (rows() == kNoRow - 1) return false;
  if (bytes_in_memory() > room_.most_memory_bytes) return false;
  const EventState& event = event_of(*record.event);
  if (event.index > 0xffff) return false;
  const std::uint32_t task = task_of(record, instance_name);
  if (record.time_ns < last_ns_ && rows() != 0) ++moved_;
  const std::uint64_t time_ns = rows() == 0 ? record.time_ns : std::max(record.time_ns, last_ns_);
  last_ns_ = time_ns;
  const std::uint32_t cpu = std::min<std::uint32_t>(record.cpu, 0xffff);
  const auto bytes = record.bytes.first(std::min<std::size_t>(record.bytes.size(), kMaxStoredBytes));
  if (bytes.size() != record.bytes.size()) ++cut_;
  const ChunkBuilder::Record added{time_ns, event.index, cpu, task, bytes};
  if (!open_.has_room(added)) seal();
  if (cpu >= last_on_cpu_.size()) last_on_cpu_.resize(cpu + 1);
  if (const auto place = std::ranges::lower_bound(names_.cpus, cpu); place == names_.cpus.end() || *place != cpu) {
    names_.cpus.insert(place, cpu);
    shared_names_.reset();
  }
  const Row row = rows();
  open_.add(added);
  std::uint32_t ids[kAxes] = {cpu, task, event.index};
  for (std::size_t axis = 0; axis < kAxes; ++axis) ++at_least(totals_.records[axis], ids[axis]);
  if (record.lost_before) note_gap(record, time_ns, row);
  last_on_cpu_[cpu] = time_ns;
  if (event.rule.role != PairRule::Role::None)
    pair(event, {row, time_ns, task, event.index, pair_key(event.rule, bytes)});
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

StoreChunk& StoreBuilder::sealed_chunk_of(Row row) {
  const auto behind = std::ranges::upper_bound(sealed_, row, {}, [](const auto& chunk) { return chunk->first_row; });
  return **std::prev(behind);
}

std::uint64_t StoreBuilder::time_ns(Row row) {
  if (row >= open_.first_row()) return open_.time_ns(row - open_.first_row());
  const StoreChunk& chunk = sealed_chunk_of(row);
  return chunk.time_ns(row - chunk.first_row);
}

void StoreBuilder::set_match(Row row, Row other) {
  if (row >= open_.first_row()) return open_.set_match(row - open_.first_row(), other);
  StoreChunk& chunk = sealed_chunk_of(row);
  Row& place = chunk.match[row - chunk.first_row];
  if (!chunk.is_in_file) return std::atomic_ref(place).store(other, std::memory_order_relaxed);
  // Not through the mapping: that could need new blocks, and end the process where there are none.
  const auto behind = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&place) - chunk.block.get());
  if (auto written = file_->write(chunk.file_at + behind, std::as_bytes(std::span(&other, 1))); !written)
    file_problem_ = written.error().message();
}

void StoreBuilder::pair(const EventState& event, const SlicePairs::Step& step) {
  std::uint32_t depth = 0;
  if (event.rule.role == PairRule::Role::Opens) {
    depth = pairs_.open(step).depth;
  } else if (const auto closed = pairs_.close(step)) {
    depth = closed->depth;
    std::uint8_t& levels = at_least(totals_.levels, step.task);
    levels = std::max(levels, static_cast<std::uint8_t>(depth + 1));
    at_least(totals_.begins_slices, closed->event) = 1;
    set_match(closed->begin, step.row);
    set_match(step.row, closed->begin);
  }
  open_.set_last_depth(depth);
}

void StoreBuilder::seal() {
  const Row next = rows();
  sealed_.push_back(open_.freeze([this](Row row) { return time_ns(row); }));
  sealed_.back()->distinct = distinct_values(*sealed_.back(), names_.events);
  sealed_bytes_ += sealed_.back()->index_bytes() + sealed_.back()->payload.size();
  open_.start(next);
  if (!file_problem_.empty() && sealed_.size() % kSealsUntilNextTry == 0) file_problem_.clear();
  while (in_file_ < sealed_.size() && bytes_in_memory() > room_.memory_bytes && file_problem_.empty()) move_to_file();
}

void StoreBuilder::move_to_file() {
  if (!file_) {
    auto made = SpillFile::create(room_.folder);
    if (!made) {
      file_problem_ = made.error().message();
      return;
    }
    file_ = *std::move(made);
  }
  std::shared_ptr<StoreChunk>& oldest = sealed_[in_file_];
  const std::size_t bytes = StoreChunk::block_bytes(oldest->shape);
  auto block = file_->add({oldest->block.get(), bytes});
  if (!block) {
    file_problem_ = block.error().message();
    return;
  }
  auto moved = std::make_shared<StoreChunk>(*oldest);
  moved->file_at = block->at;
  moved->lay_out(std::move(block->mapped));
  moved->is_in_file = true;
  sealed_bytes_ -= bytes;
  oldest = std::move(moved);
  ++in_file_;
}

StoreView StoreBuilder::view() {
  StoreView view;
  auto chunks = std::make_shared<StoreChunks>();
  chunks->all.assign(sealed_.begin(), sealed_.end());
  if (open_.rows() > 0) chunks->all.push_back(open_.freeze([this](Row row) { return time_ns(row); }));
  for (const auto& chunk : chunks->all) chunks->first_rows.push_back(chunk->first_row);
  view.chunks_ = std::move(chunks);
  if (!shared_names_) shared_names_ = std::make_shared<StoreNames>(names_);
  view.names_ = shared_names_;
  view.totals_ = std::make_shared<StoreTotals>(totals_);
  view.rows_ = rows();
  return view;
}

}  // namespace kevt::record
