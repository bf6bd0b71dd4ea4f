// The next entry of each CPU is held ready, and the oldest of these is handed out. CPUs are few, so a walk over all of
// them finds it.
//
// An entry that a cursor holds ready points into a page. Pages that are read or overwritten are used again, so a cursor
// that pauses drops what it holds ready and looks again later.
#include "runtime-user/engine/instances/trace_buffer.h"

namespace kevt::engine {

TraceBuffer::TraceBuffer(std::uint32_t cpus, std::uint32_t pages_per_cpu) {
  for (std::uint32_t i = 0; i < cpus; ++i) cpus_.emplace_back(pages_per_cpu);
}

std::optional<MergedEntry> TraceBuffer::peek(std::optional<std::uint32_t> only) {
  std::optional<MergedEntry> oldest;
  for (std::uint32_t i = 0; i < cpus_.size(); ++i) {
    if (only && *only != i) continue;
    const BufferEntry* entry = cpus_[i].peek();
    if (entry && (!oldest || entry->time_ns < oldest->entry.time_ns)) oldest = {i, *entry};
  }
  return oldest;
}

std::optional<MergedEntry> TraceBuffer::next(Cursor& cursor, std::optional<std::uint32_t> only) const {
  if (cursor.cpus_.size() != cpus_.size()) cursor.cpus_.resize(cpus_.size());
  Cursor::One* oldest = nullptr;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < cpus_.size(); ++i) {
    if (only && *only != i) continue;
    Cursor::One& one = cursor.cpus_[i];
    if (!one.next) {
      one.before = one.cursor;
      one.next = cpus_[i].next(one.cursor);
    }
    if (one.next && (!oldest || one.next->time_ns < oldest->next->time_ns)) oldest = &one, at = i;
  }
  if (!oldest) return std::nullopt;
  const MergedEntry found{at, *oldest->next};
  oldest->next.reset();
  return found;
}

void TraceBuffer::pause(Cursor& cursor) {
  for (Cursor::One& one : cursor.cpus_)
    if (one.next) {
      one.cursor = one.before;
      one.next.reset();
    }
}

void TraceBuffer::clear() {
  for (CpuBuffer& one : cpus_) one.clear();
}

BufferStats TraceBuffer::stats(std::optional<std::uint32_t> only) const {
  BufferStats sum;
  for (std::uint32_t i = 0; i < cpus_.size(); ++i)
    if (!only || *only == i) sum += cpus_[i].stats();
  return sum;
}

}  // namespace kevt::engine
