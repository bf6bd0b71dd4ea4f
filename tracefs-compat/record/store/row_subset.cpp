// Chosen records, by chunk.
//
// Problem: with a live trace a filter keeps more records ten times a second, while painters in other threads still read
// the earlier choice; and a filter may keep most of a hundred million. Idea: a part for each chunk, which never
// changes and is shared by all that continue the choice. The part of a chunk that was still filling is made anew.
#include "tracefs-compat/record/store/row_subset.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "tracefs-compat/record/store/lane_order.h"

namespace kevt::record {

namespace {

// Of the rows in `order`, lane by lane, those that are kept; there are `count`.
void keep_lanes(const LaneGroups& all, std::span<const std::uint16_t> order, const RowBits& bits, std::size_t count,
                LaneGroups& groups, std::vector<std::uint16_t>& places) {
  places.resize(count + 1);  // and room for a row behind the last one that is kept
  std::uint32_t kept = 0;
  for (const LaneGroup& lane : all) {
    const std::uint32_t begin = kept;
    for (std::uint32_t i = lane.begin; i < lane.end; ++i) {  // without a branch, which could not be foreseen
      places[kept] = order[i];
      kept += has_bit(bits, order[i]) ? 1 : 0;
    }
    if (kept > begin) groups.push_back({lane.id, begin, kept});
  }
  places.pop_back();
  groups.shrink_to_fit();
}

}  // namespace

std::shared_ptr<const RowSubset::Part> RowSubset::part_of(const StoreChunk& chunk, RowBits bits) {
  auto part = std::make_shared<Part>();
  part->first_row = chunk.first_row;
  part->seen = chunk.rows();
  part->size = static_cast<std::uint32_t>(count_bits(bits));
  if (part->is_whole()) part->groups = chunk.groups;
  if (part->is_whole() || part->size == 0) return part;
  part->places.resize(part->size);
  std::size_t kept = 0;
  each_bit(bits, [&](std::uint32_t row) { part->places[kept++] = static_cast<std::uint16_t>(row); });
  part->bits = std::move(bits);
  // To look at all rows in the order they have costs less than to sort a quarter of them.
  if (part->places.size() > chunk.rows() / 4) {
    for (std::size_t axis = 0; axis < kAxes; ++axis)
      keep_lanes(chunk.groups[axis], chunk.order[axis], part->bits, part->places.size(), part->groups[axis],
                 part->order[axis]);
    return part;
  }
  const auto order = [&](Axis axis, std::span<const std::uint32_t> ids, const auto& key_of) {
    const auto at = static_cast<std::size_t>(axis);
    part->order[at].resize(part->places.size());
    order_by_lane(
        ids, static_cast<std::uint32_t>(part->places.size()), key_of,
        [&](std::uint32_t i) -> std::uint32_t { return part->places[i]; }, part->groups[at], part->order[at]);
  };
  order(Axis::Cpu, chunk.cpus, [&](std::uint32_t row) { return chunk.cpu[row]; });
  order(Axis::Task, chunk.tasks, [&](std::uint32_t row) { return chunk.task[row]; });
  const LaneGroups& events = chunk.groups[static_cast<std::size_t>(Axis::Event)];
  std::vector<std::uint32_t> ids(events.back().id + 1);
  std::iota(ids.begin(), ids.end(), 0u);
  order(Axis::Event, ids, [&](std::uint32_t row) { return chunk.event[row]; });
  return part;
}

RowSubset::RowSubset() {
  static std::atomic<std::uint64_t> next;
  choice_ = ++next;
}

RowSubset::RowSubset(const StoreView& view, std::span<const Row> rows) : RowSubset() {
  auto row = rows.begin();
  for (const auto& chunk : view.chunks()) {
    RowBits bits = no_rows(chunk->rows());
    for (; row != rows.end() && *row - chunk->first_row < chunk->rows(); ++row) set_bit(bits, *row - chunk->first_row);
    append(part_of(*chunk, std::move(bits)));
  }
}

void RowSubset::append(std::shared_ptr<const Part> part) {
  first_rows_.push_back(part->first_row);
  before_.push_back(size_);
  size_ += part->size;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    auto& counts = totals_.records[axis];
    for (const LaneGroup& group : part->groups[axis]) {
      if (group.id >= counts.size()) counts.resize(group.id + 1);
      counts[group.id] += group.end - group.begin;
    }
  }
  parts_.push_back(std::move(part));
}

RowSubset RowSubset::continued(std::size_t first, std::vector<std::shared_ptr<const Part>> parts) const {
  RowSubset more = *this;
  while (more.parts_.size() > first) {
    const Part& last = *more.parts_.back();
    for (std::size_t axis = 0; axis < kAxes; ++axis)
      for (const LaneGroup& group : last.groups[axis]) more.totals_.records[axis][group.id] -= group.end - group.begin;
    more.size_ -= last.size;
    more.first_rows_.pop_back();
    more.before_.pop_back();
    more.parts_.pop_back();
  }
  for (auto& part : parts) more.append(std::move(part));
  return more;
}

Row RowSubset::operator[](std::size_t i) const {
  const auto at = static_cast<std::size_t>(std::ranges::upper_bound(before_, i) - before_.begin()) - 1;
  const Part& part = *parts_[at];
  const std::size_t within = i - before_[at];
  return part.first_row + (part.is_whole() ? static_cast<Row>(within) : part.places[within]);
}

std::size_t RowSubset::lower_bound(Row row) const {
  if (parts_.empty()) return 0;
  const std::size_t at = chunk_with(first_rows_, row);
  const Part& part = *parts_[at];
  if (part.is_whole()) return before_[at] + std::min(row - part.first_row, part.size);
  const auto place = std::ranges::lower_bound(part.places, row - part.first_row);
  return before_[at] + static_cast<std::size_t>(place - part.places.begin());
}

}  // namespace kevt::record
