// Field after field, so that each loop reads one number of each record. Most fields have either one value or more than
// are kept: the loop compares with the first value, or ends early.
#include "tracefs-compat/record/store/distinct_values.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tracefs-compat/record/store/row_blocks.h"
#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {
namespace {

struct Records {
  const StoreChunk& chunk;
  std::span<const std::uint32_t> begins;  // by row, in the chunk's payload
  RowList rows;                           // of the event
};

template <class Number>
std::optional<DistinctValues> values_of(const Records& records, std::uint32_t offset) {
  const std::uint32_t end = offset + sizeof(Number);
  DistinctValues found{.offset = static_cast<std::uint16_t>(offset), .bytes = sizeof(Number), .first_row = {}};
  std::array<Number, DistinctValues::kMost> values = {};
  for (const std::uint16_t row : records.rows) {
    if ((records.chunk.size_depth[row] & kMaxStoredBytes) < end) return std::nullopt;
    Number value;
    std::memcpy(&value, records.chunk.payload.data() + records.begins[row] + offset, sizeof value);
    const auto is_known = [&] {
      if (value == values[0]) return true;
      bool is_there = false;  // a branch for each value could not be foreseen
      for (const Number one : values) is_there |= one == value;
      return is_there;
    };
    if (found.count == 0) {
      values.fill(value);
    } else if (is_known()) {
      continue;
    }
    if (found.count == DistinctValues::kMost) return std::nullopt;
    values[found.count] = value;
    found.first_row[found.count++] = row;
  }
  return found;
}

std::optional<DistinctValues> values_of(const Records& records, std::uint32_t offset, std::uint32_t bytes) {
  if (offset > kMaxStoredBytes) return std::nullopt;
  switch (bytes) {
    case 1:
      return values_of<std::uint8_t>(records, offset);
    case 2:
      return values_of<std::uint16_t>(records, offset);
    case 4:
      return values_of<std::uint32_t>(records, offset);
    case 8:
      return values_of<std::uint64_t>(records, offset);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<DistinctValues> distinct_values(const StoreChunk& chunk,
                                            std::span<const std::shared_ptr<const EventFormat>> events) {
  std::vector<DistinctValues> all;
  std::vector<std::uint32_t> begins;
  constexpr auto kAxis = static_cast<std::size_t>(Axis::Event);
  for (const LaneGroup& group : chunk.groups[kAxis]) {
    if (group.end - group.begin < DistinctValues::kLeastRecords) continue;
    if (begins.empty()) {
      begins.resize(chunk.rows());
      chunk.payload_begins(0, begins);
    }
    const Records records{chunk, begins, chunk.order[kAxis].subspan(group.begin, group.end - group.begin)};
    const auto add = [&](std::uint32_t offset, std::uint32_t bytes) {
      auto found = values_of(records, offset, bytes);
      if (!found) return;
      found->event = static_cast<std::uint16_t>(group.id);
      all.push_back(*found);
    };
    add(DistinctValues::kFlagsOffset, DistinctValues::kFlagsBytes);
    for (const Field& field : events[group.id]->fields)
      if (field.kind == FieldKind::Number) add(field.offset, field.item_bytes);
  }
  all.shrink_to_fit();
  return all;
}

}  // namespace kevt::record
