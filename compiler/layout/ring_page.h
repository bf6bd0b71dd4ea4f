// Pages of the kernel's ring buffer: what trace_pipe_raw and trace.dat hold, and header_page describes.
//
//   u64 time stamp | u64 commit | data                     page of 4096 bytes (others may be read)
//   event: u32 head = type_len:5 | time_delta:27, then
//     type_len 1-28   a record of 4 * type_len bytes
//     0               u32 length (itself included), then the record
//     29              discarded: u32 length; with time_delta 0 the rest of the page
//     30              u32 high bits of a longer time step    31  the same, an absolute time
//   commit: bytes of data used; bit 31: events are missing before this page; bit 30: their number is behind the data
// Little endian, 8-byte commit word. Source: kernel/trace/ring_buffer.c, include/linux/ring_buffer.h (6.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kevt::layout {

inline constexpr std::uint32_t kRingPageBytes = 4096;
inline constexpr std::uint32_t kRingPageHeader = 16;
inline constexpr std::uint32_t kRingPageData = kRingPageBytes - kRingPageHeader;
// The longest record that fits into a page.
inline constexpr std::uint32_t kMaxRingRecord = kRingPageData - 8;

// Appends events to a page. The caller owns the page's bytes, which must outlive the writer; one writer at a time.
class RingPageWriter {
 public:
  // Starts a page, overwriting its contents. `time_ns` is the time in the page's header.
  RingPageWriter(std::span<std::uint8_t, kRingPageBytes> page, std::uint64_t time_ns);

  // Appends an event at `time_ns` and returns the room for its record of `bytes` bytes (1 to kMaxRingRecord); empty:
  // the page is full. The event is part of the page at once: fill the room before anybody reads. A time before the last
  // event's becomes the last event's time.
  std::span<std::uint8_t> append(std::uint64_t time_ns, std::uint32_t bytes);

  std::uint32_t used() const { return used_; }  // bytes of data
  std::uint64_t last_time_ns() const { return last_ns_; }

 private:
  void store_commit();

  std::uint8_t* page_;
  std::uint32_t used_ = 0;
  std::uint64_t last_ns_;
};

// Notes in a page's commit word that `count` events before it are missing; 0: unknown how many.
void mark_missed(std::span<std::uint8_t, kRingPageBytes> page, std::uint64_t count);
// Fills the unused part of a page with zeros, so that a reader in another process sees no old data.
void clear_unused(std::span<std::uint8_t, kRingPageBytes> page);

struct RingEvent {
  std::uint64_t time_ns = 0;
  std::span<const std::uint8_t> record;  // with the padding to a multiple of 4 bytes
};

// Reads a page that may be hostile: nothing outside `page` is read, and the end is always reached.
class RingPageReader {
 public:
  // `page`: the whole page; the last page of a file may be shorter. nullopt: the bytes are shorter than a page header,
  // or than the header says.
  static std::optional<RingPageReader> open(std::span<const std::uint8_t> page);

  // nullopt: the end of the page, or the page is damaged, which is_broken() tells.
  std::optional<RingEvent> next();
  bool is_broken() const { return is_broken_; }
  // The same page has more events now: next() goes on where it was.
  void follow(std::span<const std::uint8_t> page);

  std::uint64_t first_time_ns() const { return time_stamp_; }
  std::uint32_t used() const { return static_cast<std::uint32_t>(data_.size()); }  // bytes of data
  // Whether events are missing before the page, and how many (0: unknown).
  bool has_missed() const { return has_missed_; }
  std::uint64_t missed() const { return missed_; }

 private:
  RingPageReader() = default;
  std::uint32_t word(std::size_t at) const;
  std::optional<RingEvent> broken();

  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
  std::uint64_t time_stamp_ = 0;
  std::uint64_t time_ns_ = 0;
  std::uint64_t missed_ = 0;
  bool has_missed_ = false;
  bool is_broken_ = false;
};

// What events/header_page and events/header_event read.
std::string_view header_page_text();
std::string_view header_event_text();

}  // namespace kevt::layout
