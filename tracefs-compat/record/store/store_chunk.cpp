// A chunk of the store: reading its columns.
//
// Sizes are kept per record and places of bytes for every 64th one only: the sum of at most 63 sizes costs less than
// the cache line that a column of places would touch.
#include "tracefs-compat/record/store/store_chunk.h"

#include <algorithm>

namespace kevt::record {

std::span<const std::uint8_t> StoreChunk::bytes(std::uint32_t row) const {
  std::uint32_t at = payload_at[row / 64];
  for (std::uint32_t before = row & ~63u; before < row; ++before) at += size_depth[before] & kMaxStoredBytes;
  return std::span(payload).subspan(at, size_depth[row] & kMaxStoredBytes);
}

std::span<const std::uint16_t> StoreChunk::lane(Axis axis, std::uint32_t id) const {
  const auto& directory = groups[static_cast<std::size_t>(axis)];
  const auto found = std::ranges::lower_bound(directory, id, {}, &Group::id);
  if (found == directory.end() || found->id != id) return {};
  return std::span(order[static_cast<std::size_t>(axis)]).subspan(found->begin, found->end - found->begin);
}

std::uint32_t StoreChunk::lower_bound(std::uint64_t ns) const {
  if (ns <= base_ns) return 0;
  const std::uint64_t delta = ns - base_ns;
  if (delta > ~0u) return rows();
  return static_cast<std::uint32_t>(std::ranges::lower_bound(delta_ns, static_cast<std::uint32_t>(delta)) -
                                    delta_ns.begin());
}

namespace {
template <typename T>
std::size_t size_of(const std::vector<T>& column) {
  return column.size() * sizeof(T);
}
}  // namespace

std::size_t StoreChunk::index_bytes() const {
  std::size_t sum = sizeof(*this) + size_of(delta_ns) + size_of(size_depth) + size_of(event) + size_of(cpu) +
                    size_of(task) + size_of(cpus) + size_of(tasks) + size_of(payload_at) + rows() * sizeof(Row) +
                    size_of(ends) + size_of(slice_groups);
  for (std::size_t axis = 0; axis < kAxes; ++axis) sum += size_of(order[axis]) + size_of(groups[axis]);
  return sum;
}

}  // namespace kevt::record
