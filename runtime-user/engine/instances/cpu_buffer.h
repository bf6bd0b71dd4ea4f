// CpuBuffer: the trace of one CPU of one instance, kept in pages of the kernel's own layout (layout/ring_page.h).
//
// One thread uses it. Reading is consuming (peek, consume, take_page) or not (Cursor).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/layout/ring_page.h"

namespace kevt::engine {

struct BufferStats {
  std::uint64_t entries = 0;  // not read yet
  std::uint64_t overrun = 0;  // overwritten before they were read
  std::uint64_t dropped = 0;  // refused because the buffer was full
  std::uint64_t read = 0;
  std::uint64_t bytes = 0;                                     // of data in all pages
  std::optional<std::uint64_t> oldest_ns;                      // the first time in the oldest page
  std::uint64_t written() const { return entries + overrun; }  // as the head of `trace` counts

  BufferStats& operator+=(const BufferStats& other);
};

struct BufferEntry {
  std::uint64_t time_ns = 0;
  std::span<const std::uint8_t> record;  // stays good until the buffer changes
  std::uint64_t lost_before = 0;         // entries overwritten just before this one
};

class CpuBuffer {
 public:
  enum class WhenFull : std::uint8_t { Overwrite, Stop };

  explicit CpuBuffer(std::uint32_t pages);
  CpuBuffer(CpuBuffer&&) = default;
  CpuBuffer& operator=(CpuBuffer&&) = default;

  // Times of one CPU never go backwards: a time before the last entry's is stored as the last entry's. False: there was
  // no room, or the record is longer than a page holds; the record is counted as dropped.
  bool append(std::uint64_t time_ns, std::span<const std::uint8_t> record, WhenFull when_full);

  // The oldest entry that was not read; nullptr: none. It is not consumed: call consume() to go on.
  const BufferEntry* peek();
  void consume();
  // Copies the unread entries of the oldest page to `out` as a page, and consumes them. False: nothing is unread.
  bool take_page(std::span<std::uint8_t, layout::kRingPageBytes> out);

  // Walks over the unread entries without consuming them.
  class Cursor {
   public:
    Cursor() = default;

   private:
    friend class CpuBuffer;
    std::uint64_t buffer_ = 0;  // id_ of the buffer that it walks; 0: none yet
    std::uint64_t serial_ = 0;
    std::optional<layout::RingPageReader> reader_;
  };
  std::optional<BufferEntry> next(Cursor& cursor) const;

  // Also forgets the statistics.
  void clear();
  void resize(std::uint32_t pages);  // clears
  std::uint32_t pages() const { return max_pages_; }
  BufferStats stats() const;
  // Whether a page is full, so that a reader of whole pages need not wait.
  bool has_full_page() const { return pages_.size() > 1; }

 private:
  using Bytes = std::array<std::uint8_t, layout::kRingPageBytes>;
  struct Page {
    std::unique_ptr<Bytes> bytes;
    std::uint32_t events = 0;
  };
  bool begin_page(std::uint64_t time_ns, WhenFull when_full);
  void drop_front();
  void overwrite_front();

  std::uint64_t id_;  // unique: a snapshot exchanges this buffer for another one
  std::uint32_t max_pages_;
  std::deque<Page> pages_;  // oldest first; the last one is being written
  std::vector<std::unique_ptr<Bytes>> spare_;
  std::uint64_t first_serial_ = 0;  // of pages_.front()
  std::optional<layout::RingPageWriter> writer_;
  std::optional<layout::RingPageReader> reader_;  // of pages_.front(), behind `peeked_`
  std::optional<layout::RingPageReader> before_peeked_;
  std::optional<BufferEntry> peeked_;
  std::uint32_t read_of_front_ = 0;
  std::uint64_t lost_ = 0;  // entries overwritten since the last one was read
  std::uint64_t written_ = 0, overrun_ = 0, dropped_ = 0, read_ = 0;
};

}  // namespace kevt::engine
