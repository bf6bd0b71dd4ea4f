// A chunk of the store: where its columns lie, and reading them.
//
// Sizes are kept per record and places of bytes for every 64th one only: the sum of at most 63 sizes costs less than
// the cache line that a column of places would touch. Columns stand in the block by falling width, so each is aligned.
#include "tracefs-compat/record/store/store_chunk.h"

#include <algorithm>

namespace kevt::record {
namespace {

// Hands out a block's bytes, one column behind the other; without a block it only counts them.
class Columns {
 public:
  explicit Columns(std::byte* begin) : begin_(begin) {}
  template <typename T>
  std::span<T> take(std::size_t count) {
    T* const first = begin_ ? reinterpret_cast<T*>(begin_ + used_) : nullptr;
    used_ += count * sizeof(T);
    return {first, begin_ ? count : 0};
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* begin_;
  std::size_t used_ = 0;
};

std::size_t assign(StoreChunk& chunk, std::byte* begin) {
  Columns columns(begin);
  const std::size_t rows = chunk.shape.rows;
  chunk.match = columns.take<std::uint32_t>(rows);
  chunk.delta_ns = columns.take<std::uint32_t>(rows);
  chunk.payload_at = columns.take<std::uint32_t>((rows + 63) / 64);
  chunk.size_depth = columns.take<std::uint16_t>(rows);
  chunk.event = columns.take<std::uint16_t>(rows);
  chunk.task = columns.take<std::uint16_t>(rows);
  for (auto& order : chunk.order) order = columns.take<std::uint16_t>(rows);
  chunk.ends = columns.take<std::uint16_t>(chunk.shape.ends);
  chunk.cpu = columns.take<std::uint8_t>(rows);
  chunk.payload = columns.take<std::uint8_t>(chunk.shape.payload);
  return columns.used();
}

std::span<const std::uint16_t> rows_of(std::span<const DistinctValues> all, std::uint32_t event, std::uint32_t offset,
                                       std::uint32_t bytes) {
  const auto found = std::ranges::find_if(
      all, [&](const DistinctValues& one) { return one.event == event && one.offset == offset && one.bytes == bytes; });
  if (found == all.end()) return {};
  return std::span(found->first_row).first(found->count);
}

template <typename T>
std::size_t size_of(const std::vector<T>& column) {
  return column.size() * sizeof(T);
}

}  // namespace

std::size_t StoreChunk::block_bytes(const Shape& shape) {
  StoreChunk counted;
  counted.shape = shape;
  return assign(counted, nullptr);
}

void StoreChunk::lay_out(std::shared_ptr<std::byte> in) {
  block = std::move(in);
  assign(*this, block.get());
}

void StoreChunk::payload_begins(std::uint32_t first, std::span<std::uint32_t> begins) const {
  if (begins.empty()) return;
  std::uint32_t sum = payload_at[first / 64];
  for (std::size_t i = 0; i < begins.size(); ++i) {
    begins[i] = sum;
    sum += size_depth[first + i] & kMaxStoredBytes;
  }
}

std::span<const std::uint8_t> StoreChunk::bytes(std::uint32_t row) const {
  std::uint32_t at = payload_at[row / 64];
  for (std::uint32_t before = row & ~63u; before < row; ++before) at += size_depth[before] & kMaxStoredBytes;
  return payload.subspan(at, size_depth[row] & kMaxStoredBytes);
}

std::span<const std::uint16_t> lane_of(std::span<const LaneGroup> groups, std::span<const std::uint16_t> places,
                                       std::uint32_t id) {
  const auto found = std::ranges::lower_bound(groups, id, {}, &LaneGroup::id);
  if (found == groups.end() || found->id != id) return {};
  return places.subspan(found->begin, found->end - found->begin);
}

std::span<const std::uint16_t> StoreChunk::lane(Axis axis, std::uint32_t id) const {
  const auto at = static_cast<std::size_t>(axis);
  return lane_of(groups[at], order[at], id);
}

std::span<const std::uint16_t> StoreChunk::rows_of_values(std::uint32_t event, const Field& field) const {
  return rows_of(distinct, event, field.offset, field.item_bytes);
}

std::span<const std::uint16_t> StoreChunk::rows_of_flags(std::uint32_t event) const {
  return rows_of(distinct, event, DistinctValues::kFlagsOffset, DistinctValues::kFlagsBytes);
}

std::uint32_t StoreChunk::lower_bound(std::uint64_t ns) const {
  if (ns <= base_ns) return 0;
  const std::uint64_t delta = ns - base_ns;
  if (delta > ~0u) return rows();
  return static_cast<std::uint32_t>(std::ranges::lower_bound(delta_ns, static_cast<std::uint32_t>(delta)) -
                                    delta_ns.begin());
}

std::size_t StoreChunk::directory_bytes() const {
  std::size_t sum = sizeof(*this) + size_of(cpus) + size_of(tasks) + size_of(slice_groups) + size_of(distinct);
  for (const LaneGroups& axis : groups) sum += size_of(axis);
  return sum;
}

std::size_t StoreChunk::index_bytes() const { return directory_bytes() + block_bytes(shape) - shape.payload; }

}  // namespace kevt::record
