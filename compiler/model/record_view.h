// Reading a record: numbers at offsets, and its common bytes. A number that does not lie inside the record is 0.
//
//   u16 type | u8 flags | u8 preempt_count | s32 pid | …      (struct trace_entry, include/linux/trace_events.h of 6.1)
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace kevt::model {

using RecordBytes = std::span<const std::uint8_t>;

// `bytes`: 8 at most, little-endian, not sign-extended.
inline std::uint64_t number_at(RecordBytes record, std::size_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  if (bytes <= sizeof value && offset <= record.size() && bytes <= record.size() - offset)
    std::memcpy(&value, record.data() + offset, bytes);
  return value;
}

inline std::uint32_t type_of(RecordBytes record) { return static_cast<std::uint32_t>(number_at(record, 0, 2)); }
inline std::int32_t pid_of(RecordBytes record) { return static_cast<std::int32_t>(number_at(record, 4, 4)); }

}  // namespace kevt::model
