// Pages are allocated when needed, and reused once they were read or overwritten:
//
//   front  [read | peeked | not read]  [not read]  [being written |      ]  back
//
// Overwriting drops the whole front page; its unread entries count as `overrun`, and the next entry that is read says
// how many are missing before it. A cursor whose page was dropped goes on with the oldest page. Mirrors what
// ring_buffer_consume(), ring_buffer_iter_peek() and ring_buffer_read_page() of kernel/trace/ring_buffer.c (6.1) show
// to readers, but not their lock-free ways.
#include "runtime-user/engine/instances/cpu_buffer.h"

#include <algorithm>

#include "common/assert.h"

namespace kevt::engine {

BufferStats& BufferStats::operator+=(const BufferStats& other) {
  entries += other.entries;
  overrun += other.overrun;
  dropped += other.dropped;
  read += other.read;
  bytes += other.bytes;
  if (other.oldest_ns && (!oldest_ns || *other.oldest_ns < *oldest_ns)) oldest_ns = other.oldest_ns;
  return *this;
}

CpuBuffer::CpuBuffer(std::uint32_t pages) : max_pages_(std::max(pages, 2u)) {
  static std::uint64_t last_id = 0;
  id_ = ++last_id;
}

void CpuBuffer::drop_front() {
  spare_.push_back(std::move(pages_.front().bytes));
  pages_.pop_front();
  ++first_serial_;
  reader_.reset();
  peeked_.reset();
  read_of_front_ = 0;
}

void CpuBuffer::overwrite_front() {
  const std::uint64_t unread = pages_.front().events - read_of_front_;
  overrun_ += unread;
  lost_ += unread;
  drop_front();
}

bool CpuBuffer::begin_page(std::uint64_t time_ns, WhenFull when_full) {
  if (pages_.size() >= max_pages_) {
    if (read_of_front_ == pages_.front().events)
      drop_front();
    else if (when_full == WhenFull::Stop)
      return false;
    else
      overwrite_front();
  }
  if (spare_.empty()) spare_.push_back(std::make_unique<Bytes>());
  pages_.push_back({std::move(spare_.back()), 0});
  spare_.pop_back();
  writer_.emplace(*pages_.back().bytes, std::max(time_ns, writer_ ? writer_->last_time_ns() : 0));
  return true;
}

bool CpuBuffer::append(std::uint64_t time_ns, std::span<const std::uint8_t> record, WhenFull when_full) {
  const auto bytes = static_cast<std::uint32_t>(record.size());
  std::span<std::uint8_t> room;
  const bool fits = !record.empty() && record.size() <= layout::kMaxRingRecord;
  if (fits && writer_ && !pages_.empty()) room = writer_->append(time_ns, bytes);
  if (fits && room.empty() && begin_page(time_ns, when_full)) room = writer_->append(time_ns, bytes);
  if (room.empty()) {
    ++dropped_;
    return false;
  }
  std::ranges::copy(record, room.begin());
  ++pages_.back().events;
  ++written_;
  return true;
}

const BufferEntry* CpuBuffer::peek() {
  while (!peeked_ && !pages_.empty()) {
    if (reader_)
      reader_->follow(*pages_.front().bytes);
    else
      reader_ = layout::RingPageReader::open(*pages_.front().bytes);
    before_peeked_ = reader_;
    if (const auto event = reader_->next()) {
      peeked_ = {event->time_ns, event->record, 0};
    } else {
      if (pages_.size() == 1) return nullptr;
      drop_front();
    }
  }
  if (!peeked_) return nullptr;
  peeked_->lost_before = lost_;
  return &*peeked_;
}

void CpuBuffer::consume() {
  KEVT_ASSERT(peeked_.has_value());
  peeked_.reset();
  lost_ = 0;
  ++read_of_front_;
  ++read_;
}

bool CpuBuffer::take_page(std::span<std::uint8_t, layout::kRingPageBytes> out) {
  const BufferEntry* first = peek();
  if (!first) return false;
  const std::uint64_t lost = first->lost_before;
  if (read_of_front_ == 0) {
    std::ranges::copy(*pages_.front().bytes, out.begin());
  } else {
    layout::RingPageWriter rest(out, first->time_ns);
    layout::RingPageReader from = *before_peeked_;
    from.follow(*pages_.front().bytes);
    while (const auto event = from.next())
      std::ranges::copy(event->record,
                        rest.append(event->time_ns, static_cast<std::uint32_t>(event->record.size())).begin());
  }
  if (lost) layout::mark_missed(out, lost);
  layout::clear_unused(out);
  read_ += pages_.front().events - read_of_front_;
  lost_ = 0;
  drop_front();
  return true;
}

std::optional<BufferEntry> CpuBuffer::next(Cursor& cursor) const {
  if (pages_.empty()) return std::nullopt;
  if (cursor.buffer_ != id_ || cursor.serial_ < first_serial_) {
    cursor.buffer_ = id_;
    cursor.serial_ = first_serial_;
    cursor.reader_ = peeked_ ? before_peeked_ : reader_;
  }
  while (cursor.serial_ - first_serial_ < pages_.size()) {
    const Page& page = pages_[cursor.serial_ - first_serial_];
    if (cursor.reader_)
      cursor.reader_->follow(*page.bytes);
    else
      cursor.reader_ = layout::RingPageReader::open(*page.bytes);
    if (const auto event = cursor.reader_->next()) return BufferEntry{event->time_ns, event->record, 0};
    if (cursor.serial_ - first_serial_ + 1 == pages_.size()) break;
    ++cursor.serial_;
    cursor.reader_.reset();
  }
  return std::nullopt;
}

void CpuBuffer::clear() {
  while (!pages_.empty()) drop_front();
  writer_.reset();
  written_ = overrun_ = dropped_ = read_ = lost_ = 0;
}

void CpuBuffer::resize(std::uint32_t pages) {
  clear();
  spare_.clear();
  max_pages_ = std::max(pages, 2u);
}

BufferStats CpuBuffer::stats() const {
  BufferStats stats{.entries = written_ - overrun_ - read_, .overrun = overrun_, .dropped = dropped_, .read = read_};
  for (const Page& page : pages_) stats.bytes += layout::RingPageReader::open(*page.bytes)->used();
  if (stats.entries) stats.oldest_ns = layout::RingPageReader::open(*pages_.front().bytes)->first_time_ns();
  return stats;
}

}  // namespace kevt::engine
