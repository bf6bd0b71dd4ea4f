// The indexes of a chunk: records by lane, slices by task and duration.
//
// Slices are kept by the bits of their duration: of those that end here, who draws at P ns per pixel takes the buckets
// from P on, each sorted by its end. They do not overlap at one depth, so there are never more of them in a window than
// it has pixels (times the depth), however many shorter ones there are.
#include <algorithm>
#include <bit>
#include <numeric>

#include "tracefs-compat/record/store/store.h"

namespace kevt::record {
namespace {

// A counting sort: rows by the number of their lane, in the order of time within each.
template <typename KeyOf>
void order_by(StoreChunk& chunk, Axis axis, std::span<const std::uint32_t> ids, KeyOf key_of) {
  std::vector<std::uint32_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0u);
  std::ranges::sort(places, {}, [&](std::uint32_t local) { return ids[local]; });
  std::vector<std::uint32_t> counts(ids.size());
  for (std::uint32_t row = 0; row < chunk.rows(); ++row) ++counts[key_of(row)];
  auto& groups = chunk.groups[static_cast<std::size_t>(axis)];
  std::vector<std::uint32_t> next(ids.size());
  std::uint32_t at = 0;
  for (const std::uint32_t local : places) {
    if (counts[local] == 0) continue;
    groups.push_back({ids[local], at, at + counts[local]});
    next[local] = at;
    at += counts[local];
  }
  auto& order = chunk.order[static_cast<std::size_t>(axis)];
  order.resize(chunk.rows());
  for (std::uint32_t row = 0; row < chunk.rows(); ++row) order[next[key_of(row)]++] = static_cast<std::uint16_t>(row);
}

struct EndingSlice {
  std::uint32_t task, bucket;
  std::uint64_t start_ns;
  std::uint16_t row;
};

}  // namespace

void index_chunk(StoreChunk& chunk, const std::function<std::uint64_t(Row)>& start_ns_of) {
  order_by(chunk, Axis::Cpu, chunk.cpus, [&](std::uint32_t row) { return chunk.cpu[row]; });
  order_by(chunk, Axis::Task, chunk.tasks, [&](std::uint32_t row) { return chunk.task[row]; });
  const std::uint32_t events = chunk.event.empty() ? 0 : *std::ranges::max_element(chunk.event) + 1u;
  std::vector<std::uint32_t> ids(events);
  std::iota(ids.begin(), ids.end(), 0u);
  order_by(chunk, Axis::Event, ids, [&](std::uint32_t row) { return chunk.event[row]; });

  std::vector<EndingSlice> slices;
  for (std::uint32_t row = 0; row < chunk.rows(); ++row) {
    const Row other = chunk.match_of(row);
    if (other >= chunk.first_row + row) continue;  // none, or an entry
    const std::uint64_t start = start_ns_of(other);
    const std::uint64_t duration = chunk.time_ns(row) - start;
    slices.push_back({chunk.task_of(row), static_cast<std::uint32_t>(std::bit_width(duration)), start,
                      static_cast<std::uint16_t>(row)});
  }
  std::ranges::stable_sort(slices, [](const EndingSlice& a, const EndingSlice& b) {
    return std::pair(a.task, a.bucket) < std::pair(b.task, b.bucket);
  });
  for (const EndingSlice& slice : slices) {
    const auto at = static_cast<std::uint32_t>(chunk.ends.size());
    if (chunk.slice_groups.empty() || chunk.slice_groups.back().task != slice.task ||
        chunk.slice_groups.back().bucket != slice.bucket)
      chunk.slice_groups.push_back({slice.task, static_cast<std::uint16_t>(slice.bucket), 0, at, at, slice.start_ns});
    StoreChunk::SliceGroup& group = chunk.slice_groups.back();
    group.end = at + 1;
    group.first_start_ns = std::min(group.first_start_ns, slice.start_ns);
    group.deepest = std::max<std::uint16_t>(group.deepest, static_cast<std::uint16_t>(chunk.depth(slice.row)));
    chunk.ends.push_back(slice.row);
  }
  chunk.ends.shrink_to_fit();
  chunk.slice_groups.shrink_to_fit();
}

}  // namespace kevt::record
