// One event of 5 bytes, 2 microseconds after the one before it:
//
//   02 fa 00 00  "12345" 00 00 00      head: type_len 2 (8 bytes), time_delta 2000; the record is padded with zeros
//
// A step of 2^27 ns or more gets an event of its own in front (type 30), which carries the bits above 27. Records of
// more than 112 bytes have their length in a word of its own. The first event of a page has the page's time, so its
// delta is 0. What this does not do: sharing pages between CPUs and readers (the engine has one writer), pages whose
// commit word has 4 bytes, big endian.
// Mirrors rb_update_event(), rb_event_data_length(), ring_buffer_read_page() of kernel/trace/ring_buffer.c (6.1).
#include "compiler/layout/ring_page.h"

#include <algorithm>
#include <cstring>

#include "common/assert.h"

namespace kevt::layout {

namespace {

constexpr std::uint32_t kHeadBytes = 4;
constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kExtendBytes = 8;
constexpr unsigned kDeltaBits = 27;
constexpr std::uint32_t kMaxSmall = 28 * 4;
constexpr std::uint64_t kMaxDelta = (1ull << kDeltaBits) - 1;
constexpr std::uint64_t kAbsoluteMask = (1ull << 59) - 1;  // what a time stamp event holds of a time

enum Type : std::uint32_t { kLong = 0, kPadding = 29, kTimeExtend = 30, kTimeStamp = 31 };

constexpr std::uint32_t kCommitBytes = 0x000fffff;  // of the commit word: the kernel's mask of sizes
constexpr std::uint32_t kMissedEvents = 1u << 31;
constexpr std::uint32_t kMissedStored = 1u << 30;

std::uint32_t head_word(std::uint32_t type, std::uint64_t delta) {
  return type | static_cast<std::uint32_t>(delta) << 5;
}

void put32(std::uint8_t* at, std::uint32_t value) { std::memcpy(at, &value, sizeof value); }
void put64(std::uint8_t* at, std::uint64_t value) { std::memcpy(at, &value, sizeof value); }

std::uint64_t get64(const std::uint8_t* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

RingPageWriter::RingPageWriter(std::span<std::uint8_t, kRingPageBytes> page, std::uint64_t time_ns)
    : page_(page.data()), last_ns_(time_ns) {
  put64(page_, time_ns);
  store_commit();
}

void RingPageWriter::store_commit() { put64(page_ + 8, used_); }

std::span<std::uint8_t> RingPageWriter::append(std::uint64_t time_ns, std::uint32_t bytes) {
  KEVT_ASSERT(bytes > 0 && bytes <= kMaxRingRecord);
  const std::uint64_t delta = time_ns > last_ns_ ? time_ns - last_ns_ : 0;
  const std::uint32_t padded = (bytes + 3) & ~3u;
  const bool is_long = padded > kMaxSmall;
  const bool extends = delta > kMaxDelta;
  const std::uint32_t total = (extends ? kExtendBytes : 0) + kHeadBytes + (is_long ? kWordBytes : 0) + padded;
  if (total > kRingPageData - used_) return {};

  std::uint8_t* at = page_ + kRingPageHeader + used_;
  if (extends) {
    put32(at, head_word(kTimeExtend, delta & kMaxDelta));
    put32(at + kHeadBytes, static_cast<std::uint32_t>(delta >> kDeltaBits));
    at += kExtendBytes;
  }
  put32(at, head_word(is_long ? static_cast<std::uint32_t>(kLong) : padded / 4, extends ? 0 : delta));
  at += kHeadBytes;
  if (is_long) {
    put32(at, padded + kWordBytes);
    at += kWordBytes;
  }
  std::memset(at + padded - 4, 0, 4);  // the padding behind the record
  used_ += total;
  last_ns_ += delta;
  store_commit();
  return {at, bytes};
}

void mark_missed(std::span<std::uint8_t, kRingPageBytes> page, std::uint64_t count) {
  std::uint64_t commit = get64(page.data() + 8) & kCommitBytes;
  const std::uint64_t used = std::min<std::uint64_t>(commit, kRingPageData);
  commit |= kMissedEvents;
  if (count != 0 && kRingPageData - used >= sizeof count) {
    put64(page.data() + kRingPageHeader + used, count);
    commit |= kMissedStored;
  }
  put64(page.data() + 8, commit);
}

void clear_unused(std::span<std::uint8_t, kRingPageBytes> page) {
  const std::uint64_t commit = get64(page.data() + 8);
  std::uint64_t used = commit & kCommitBytes;
  if ((commit & kMissedStored) != 0) used += sizeof(std::uint64_t);
  if (used < kRingPageData) std::memset(page.data() + kRingPageHeader + used, 0, kRingPageData - used);
}

// ---- reading --------------------------------------------------------------------------------

std::optional<RingPageReader> RingPageReader::open(std::span<const std::uint8_t> page) {
  if (page.size() < kRingPageHeader) return std::nullopt;
  const std::uint64_t commit = get64(page.data() + 8);
  const std::uint64_t used = commit & kCommitBytes;
  if (used > page.size() - kRingPageHeader) return std::nullopt;
  RingPageReader reader;
  reader.data_ = page.subspan(kRingPageHeader, used);
  reader.time_stamp_ = reader.time_ns_ = get64(page.data());
  reader.has_missed_ = (commit & kMissedEvents) != 0;
  const std::uint64_t behind = kRingPageHeader + used;
  if (reader.has_missed_ && (commit & kMissedStored) != 0 && page.size() - behind >= sizeof(std::uint64_t))
    reader.missed_ = get64(page.data() + behind);
  return reader;
}

void RingPageReader::follow(std::span<const std::uint8_t> page) {
  const auto now = open(page);
  if (now && !is_broken_ && now->data_.size() >= data_.size()) data_ = now->data_;
}

std::uint32_t RingPageReader::word(std::size_t at) const {
  std::uint32_t value;
  std::memcpy(&value, data_.data() + at, sizeof value);
  return value;
}

std::optional<RingEvent> RingPageReader::broken() {
  is_broken_ = true;
  at_ = data_.size();
  return std::nullopt;
}

std::optional<RingEvent> RingPageReader::next() {
  while (at_ < data_.size()) {
    const std::size_t left = data_.size() - at_;
    if (left < kHeadBytes) return broken();
    const std::uint32_t head = word(at_);
    const std::uint32_t type = head & 0x1f;
    const std::uint64_t delta = head >> 5;
    if (type == kPadding && delta == 0) {
      at_ = data_.size();
      return std::nullopt;
    }
    if (type >= kPadding || type == kLong) {
      if (left < kHeadBytes + kWordBytes) return broken();
      const std::uint32_t second = word(at_ + kHeadBytes);
      if (type == kTimeExtend || type == kTimeStamp) {
        const std::uint64_t value = (static_cast<std::uint64_t>(second) << kDeltaBits) + delta;
        time_ns_ = type == kTimeExtend ? time_ns_ + value : (time_stamp_ & ~kAbsoluteMask) | (value & kAbsoluteMask);
        at_ += kExtendBytes;
        continue;
      }
      if (second < kWordBytes || second > left - kHeadBytes) return broken();
      time_ns_ += delta;
      const auto record = data_.subspan(at_ + kHeadBytes + kWordBytes, second - kWordBytes);
      at_ += kHeadBytes + second;
      if (type == kPadding) continue;
      return RingEvent{time_ns_, record};
    }
    const std::size_t length = std::size_t{type} * 4;
    if (length > left - kHeadBytes) return broken();
    time_ns_ += delta;
    const auto record = data_.subspan(at_ + kHeadBytes, length);
    at_ += kHeadBytes + length;
    return RingEvent{time_ns_, record};
  }
  return std::nullopt;
}

// ---- the two files that describe it -----------------------------------------------------------

std::string_view header_page_text() {
  return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
         "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
         "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
         "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
}

std::string_view header_event_text() {
  return "# compressed entry header\n"
         "\ttype_len    :    5 bits\n"
         "\ttime_delta  :   27 bits\n"
         "\tarray       :   32 bits\n"
         "\n"
         "\tpadding     : type == 29\n"
         "\ttime_extend : type == 30\n"
         "\ttime_stamp : type == 31\n"
         "\tdata max type_len  == 28\n";
}

}  // namespace kevt::layout
