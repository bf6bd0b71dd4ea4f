// Pages of the kernel's ring buffer: what trace_pipe_raw and trace.dat hold, and header_page describes.
//
//   u64 time stamp | u64 commit | data                     page of 4096 bytes (others may be read)
//   event: u32 head = type_len:5 | time_delta:27, then
//     type_len 1-28   a record of 4 * type_len bytes
//     0               u32 length (itself included), then the record
//     29              discarded: u32 length; with time_delta 0 the rest of the page
//     30              u32 high bits of a longer time step    31  the same, an absolute time
//   commit: bytes of data used; bit 31: events are missing before this page; bit 30: how many stands behind the data
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

// Appends events to a page. The page's bytes are the caller's and outlive the writer; one writer at a time.
class RingPageWriter {
 public:
  // Starts a page; its first event has `time_ns`, and its header. What the page held is overwritten.
  RingPageWriter(std::span<std::uint8_t, kRingPageBytes> page, std::uint64_t time_ns);

  // Room for a record of `bytes` (1 to kMaxRingRecord) at `time_ns`, the events' order; empty: the page has no room for
  // it. It is part of the page at once: fill it before anybody reads. Times that go backwards become the last one's.
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
// Fills the unused part of a page with zeros, as a reader in another process shall see it.
void clear_unused(std::span<std::uint8_t, kRingPageBytes> page);

struct RingEvent {
  std::uint64_t time_ns = 0;
  std::span<const std::uint8_t> record;  // with the padding to a multiple of 4 bytes
};

// Reads a page that may be hostile: nothing outside `page` is read, and the end is always reached.
class RingPageReader {
 public:
  // `page`: the whole page or, of the last one of a file, less; nullopt: shorter than its header, or than it says.
  static std::optional<RingPageReader> open(std::span<const std::uint8_t> page);

  // nullopt at the end, or where the page makes no sense: is_broken() tells.
  std::optional<RingEvent> next();
  bool is_broken() const { return is_broken_; }
  // The page, the same one, has got more events since: next() goes on where it was.
  void follow(std::span<const std::uint8_t> page);

  std::uint64_t first_time_ns() const { return time_stamp_; }
  std::uint32_t used() const { return static_cast<std::uint32_t>(data_.size()); }  // bytes of data
  // Are events missing before the page; how many, where that is known (else 0).
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
