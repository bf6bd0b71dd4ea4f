// The distinct values that a number field of an event has in a chunk, where they are few: the address of a place, an
// error number, a file descriptor. Who asks the same of every record asks it of these first (chunk_search.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tracefs-compat/record/event_format.h"

namespace kevt::record {

struct StoreChunk;

struct DistinctValues {
  static constexpr std::size_t kMost = 8;
  // Of the event in the chunk: what is known of fewer records takes more memory than it saves time.
  static constexpr std::uint32_t kLeastRecords = 1024;
  // common_flags and common_preempt_count, which a line shows together, are one field here.
  static constexpr std::uint16_t kFlagsOffset = 2;
  static constexpr std::uint8_t kFlagsBytes = 2;

  std::uint16_t event = 0;  // StoreNames::events
  std::uint16_t offset = 0;
  std::uint8_t bytes = 0;                      // of the field: 1, 2, 4 or 8
  std::uint8_t count = 0;                      // of values
  std::array<std::uint16_t, kMost> first_row;  // of each value: the first record that has it, ascending
};

// By event, then field. Fields that a record of the chunk is too short for are left out. `events`: the store's.
std::vector<DistinctValues> distinct_values(const StoreChunk& chunk,
                                            std::span<const std::shared_ptr<const EventFormat>> events);

}  // namespace kevt::record
