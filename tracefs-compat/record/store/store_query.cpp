// Queries over a store's chunks.
//
// A lane is, chunk by chunk, a sorted list of places. Where a chunk has fewer of them than it spans pixels they are
// walked, otherwise the borders of its pixels are searched: both give the same counts, and neither touches more than a
// few thousand records for a screen. The kernel of it all is `LaneChunk`, which makes all records, or those of a lane,
// one sequence.
#include "tracefs-compat/record/store/store_query.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kevt::record {
namespace {

// Those of the ascending places that lie before `end`.
std::span<const std::uint16_t> before(std::span<const std::uint16_t> places, std::uint32_t end) {
  return places.first(static_cast<std::size_t>(std::ranges::lower_bound(places, end) - places.begin()));
}

// Of the lane's subset, what it has of the chunk; nullptr: nothing.
const RowSubset::Part* part_of(const StoreChunk& chunk, std::size_t number, LaneKey lane) {
  const RowSubset::Part* const part = lane.only->part(number);
  return part && part->first_row == chunk.first_row ? part : nullptr;
}

// The places of a lane's records in one chunk. A subset may have been made when the chunk had more records, or fewer.
std::span<const std::uint16_t> places_of(const StoreChunk& chunk, const RowSubset::Part* part, LaneKey lane) {
  if (!lane.only) return chunk.lane(*lane.axis, lane.id);
  if (!part) return {};
  if (part->is_whole() && lane.axis) return before(chunk.lane(*lane.axis, lane.id), part->seen);
  std::span<const std::uint16_t> places = part->places;
  if (lane.axis) {
    const auto axis = static_cast<std::size_t>(*lane.axis);
    places = lane_of(part->groups[axis], part->order[axis], lane.id);
  }
  return part->seen <= chunk.rows() ? places : before(places, chunk.rows());
}

// The records of a lane in one chunk, as a sequence of places.
class LaneChunk {
 public:
  LaneChunk(const StoreView& view, std::size_t number, LaneKey lane) : chunk_(*view.chunks()[number]) {
    const RowSubset::Part* const part = lane.only ? part_of(chunk_, number, lane) : nullptr;
    all_ = !lane.axis && (!lane.only || (part && part->is_whole()));
    if (!all_) places_ = places_of(chunk_, part, lane);
    size_ =
        all_ ? std::min(chunk_.rows(), part ? part->seen : chunk_.rows()) : static_cast<std::uint32_t>(places_.size());
  }
  std::uint32_t size() const { return size_; }
  std::uint32_t local(std::uint32_t i) const { return all_ ? i : places_[i]; }
  Row row(std::uint32_t i) const { return chunk_.first_row + local(i); }
  std::uint64_t time(std::uint32_t i) const { return chunk_.time_ns(local(i)); }
  // First of them, from `first` on, at or behind the time.
  std::uint32_t lower_bound(std::uint64_t ns, std::uint32_t first = 0) const {
    std::uint32_t count = size() - first;
    while (count > 0) {
      const std::uint32_t half = count / 2;
      if (time(first + half) < ns) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return first;
  }
  // First of them at or behind the row.
  std::uint32_t lower_bound_row(Row row) const {
    if (row <= chunk_.first_row) return 0;
    const Row local = row - chunk_.first_row;
    if (all_) return std::min(local, size());
    return static_cast<std::uint32_t>(std::ranges::lower_bound(places_, local) - places_.begin());
  }

 private:
  const StoreChunk& chunk_;
  bool all_ = false;  // the first size_ places
  std::uint32_t size_ = 0;
  std::span<const std::uint16_t> places_;
};

// Chunks that hold any record of [from_ns, to_ns).
std::pair<std::size_t, std::size_t> chunks_between(const StoreView& view, std::uint64_t from_ns, std::uint64_t to_ns) {
  const auto& chunks = view.chunks();
  const auto first =
      std::ranges::partition_point(chunks, [&](const auto& chunk) { return chunk->last_ns() < from_ns; });
  const auto last = std::ranges::partition_point(chunks, [&](const auto& chunk) { return chunk->base_ns < to_ns; });
  const auto begin = static_cast<std::size_t>(first - chunks.begin());
  return {begin, std::max(begin, static_cast<std::size_t>(last - chunks.begin()))};
}

void count_chunk(const StoreView& view, std::size_t number, LaneKey lane, const PixelRow& row,
                 std::span<std::uint32_t> counts) {
  const StoreChunk& chunk = *view.chunks()[number];
  const LaneChunk records(view, number, lane);
  if (records.size() == 0) return;
  const auto pixel_of = [&](std::uint64_t ns) { return std::floor(row.pixel_of(ns)); };
  // A chunk within one pixel is counted from its directory alone.
  if (const double pixel = pixel_of(chunk.base_ns);
      pixel == pixel_of(chunk.last_ns()) && chunk.base_ns >= row.border(0)) {
    if (pixel >= 0 && pixel < row.pixels) counts[static_cast<std::size_t>(pixel)] += records.size();
    return;
  }
  const double first_pixel = std::max(0.0, pixel_of(records.time(0)));
  const double last_pixel = std::min<double>(row.pixels - 1.0, pixel_of(records.time(records.size() - 1)));
  if (last_pixel < first_pixel) return;
  std::uint32_t at = records.lower_bound(row.border(0));
  if (records.size() < 16 * (last_pixel - first_pixel + 1)) {
    for (; at < records.size(); ++at) {
      const double pixel = pixel_of(records.time(at));
      if (pixel < 0) continue;
      if (pixel >= row.pixels) return;
      ++counts[static_cast<std::size_t>(pixel)];
    }
    return;
  }
  for (auto pixel = static_cast<std::uint32_t>(first_pixel); pixel <= last_pixel && at < records.size(); ++pixel) {
    const std::uint32_t next = records.lower_bound(row.border(pixel + 1.0), at);
    counts[pixel] += next - at;
    at = next;
  }
}

}  // namespace

std::uint64_t PixelRow::border(double pixel) const {
  const double behind = std::ceil(from_ns + pixel * ns_per_pixel);
  if (behind < 0)
    return origin_ns > static_cast<std::uint64_t>(std::min(-behind, 1.8e19))
               ? origin_ns - static_cast<std::uint64_t>(-behind)
               : 0;
  const auto step = behind >= 1.8e19 ? ~0ull : static_cast<std::uint64_t>(behind);
  return step > ~0ull - origin_ns ? ~0ull : origin_ns + step;
}

double PixelRow::pixel_of(std::uint64_t ns) const {
  const double behind = ns >= origin_ns ? static_cast<double>(ns - origin_ns) : -static_cast<double>(origin_ns - ns);
  return (behind - from_ns) / ns_per_pixel;
}

void count_by_pixel(const StoreView& view, LaneKey lane, const PixelRow& row, std::span<std::uint32_t> counts) {
  const auto [first, last] = chunks_between(view, row.border(0), row.border(row.pixels));
  for (std::size_t i = first; i < last; ++i) count_chunk(view, i, lane, row, counts);
}

void visit_lane(const StoreView& view, LaneKey lane, std::uint64_t from_ns, std::uint64_t to_ns,
                const std::function<bool(Row, std::uint64_t)>& visit) {
  const auto [first, last] = chunks_between(view, from_ns, to_ns);
  for (std::size_t i = first; i < last; ++i) {
    const LaneChunk records(view, i, lane);
    for (std::uint32_t at = records.lower_bound(from_ns); at < records.size(); ++at) {
      const std::uint64_t ns = records.time(at);
      if (ns >= to_ns || !visit(records.row(at), ns)) return;
    }
  }
}

std::uint64_t count_lane(const StoreView& view, LaneKey lane, std::uint64_t from_ns, std::uint64_t to_ns) {
  std::uint64_t sum = 0;
  const auto [first, last] = chunks_between(view, from_ns, to_ns);
  for (std::size_t i = first; i < last; ++i) {
    const LaneChunk records(view, i, lane);
    const std::uint32_t from = records.lower_bound(from_ns);
    sum += records.lower_bound(to_ns, from) - from;
  }
  return sum;
}

std::optional<Row> next_in_lane(const StoreView& view, LaneKey lane, Row row) {
  if (row + 1 >= view.rows()) return std::nullopt;
  for (std::size_t i = view.chunk_of(row + 1); i < view.chunks().size(); ++i) {
    const LaneChunk records(view, i, lane);
    const std::uint32_t at = records.lower_bound_row(row + 1);
    if (at < records.size()) return records.row(at);
  }
  return std::nullopt;
}

std::optional<Row> previous_in_lane(const StoreView& view, LaneKey lane, Row row) {
  if (view.empty() || row == 0) return std::nullopt;
  row = std::min(row, view.rows());
  for (std::size_t i = view.chunk_of(row - 1) + 1; i-- > 0;) {
    const LaneChunk records(view, i, lane);
    const std::uint32_t at = records.lower_bound_row(row);
    if (at > 0) return records.row(at - 1);
  }
  return std::nullopt;
}

std::optional<Row> nearest_in_lane(const StoreView& view, LaneKey lane, std::uint64_t ns, std::uint64_t within_ns) {
  const Row at = view.lower_bound(ns);
  std::optional<Row> behind = at < view.rows() ? next_in_lane(view, lane, at - 1) : std::nullopt;
  if (at == 0 && !view.empty()) {  // next_in_lane() wants a row before it
    const LaneChunk records(view, 0, lane);
    behind = records.size() ? std::optional(records.row(0)) : next_in_lane(view, lane, view.chunks()[0]->rows() - 1);
  }
  const std::optional<Row> before = previous_in_lane(view, lane, at);
  std::optional<Row> best;
  std::uint64_t best_ns = within_ns;
  for (const auto& candidate : {behind, before}) {
    if (!candidate) continue;
    const std::uint64_t time = view.time_ns(*candidate);
    const std::uint64_t away = time > ns ? time - ns : ns - time;
    if (away > best_ns || (best && away == best_ns)) continue;
    best = candidate;
    best_ns = away;
  }
  return best;
}

namespace {

using SliceGroup = StoreChunk::SliceGroup;

Slice slice_of(const StoreView& view, const StoreChunk& chunk, std::uint32_t end) {
  const Row begin = chunk.match_of(end);
  Slice slice{.begin = begin, .end = chunk.first_row + end, .to_ns = chunk.time_ns(end), .depth = chunk.depth(end)};
  // Most slices begin in the chunk they end in.
  const bool is_here = begin >= chunk.first_row;
  slice.from_ns = is_here ? chunk.time_ns(begin - chunk.first_row) : view.time_ns(begin);
  slice.event = is_here ? chunk.event[begin - chunk.first_row] : view.event(begin);
  return slice;
}

template <typename Visit>
void visit_group(const StoreView& view, const StoreChunk& chunk, const SliceGroup& group,
                 std::pair<std::uint64_t, std::uint64_t> window, const Visit& visit) {
  const auto ends = std::span(chunk.ends).subspan(group.begin, group.end - group.begin);
  const auto first =
      std::ranges::partition_point(ends, [&](std::uint16_t local) { return chunk.time_ns(local) < window.first; });
  // A slice of this bucket that ends later than this began behind the window.
  const std::uint64_t longest = group.bucket >= 64 ? ~0ull : (1ull << group.bucket);
  const std::uint64_t latest = window.second > ~0ull - longest ? ~0ull : window.second + longest;
  for (auto end = first; end != ends.end() && chunk.time_ns(*end) <= latest; ++end)
    if (const Slice slice = slice_of(view, chunk, *end); slice.from_ns < window.second) visit(slice);
}

template <typename Visit>
void visit_task(const StoreView& view, std::uint32_t task, std::pair<std::uint64_t, std::uint64_t> window,
                std::uint32_t lowest_bucket, const Visit& visit) {
  for (std::size_t i = chunks_between(view, window.first, window.second).first; i < view.chunks().size(); ++i) {
    const StoreChunk& chunk = *view.chunks()[i];
    auto group =
        std::ranges::lower_bound(chunk.slice_groups, std::pair(task, lowest_bucket), {},
                                 [](const SliceGroup& g) { return std::pair(g.task, std::uint32_t{g.bucket}); });
    for (; group != chunk.slice_groups.end() && group->task == task; ++group)
      if (group->first_start_ns < window.second) visit_group(view, chunk, *group, window, visit);
  }
}

}  // namespace

std::vector<Slice> slices_of(const StoreView& view, std::uint32_t task, std::uint64_t from_ns, std::uint64_t to_ns,
                             std::uint64_t min_ns) {
  std::vector<Slice> out;
  visit_task(view, task, {from_ns, to_ns}, static_cast<std::uint32_t>(std::bit_width(min_ns)),
             [&](const Slice& slice) { out.push_back(slice); });
  return out;
}

void visit_slices(const StoreView& view, std::uint32_t task, std::uint64_t from_ns, std::uint64_t to_ns,
                  const std::function<void(const Slice&)>& visit) {
  visit_task(view, task, {from_ns, to_ns}, 0, visit);
}

void visit_open_slices(const StoreView& view, std::uint64_t ns, const std::function<void(const Slice&)>& visit) {
  for (std::size_t i = chunks_between(view, ns, ns).first; i < view.chunks().size(); ++i) {
    const StoreChunk& chunk = *view.chunks()[i];
    for (const SliceGroup& group : chunk.slice_groups)
      if (group.first_start_ns < ns) visit_group(view, chunk, group, {ns, ns}, visit);
  }
}

}  // namespace kevt::record
