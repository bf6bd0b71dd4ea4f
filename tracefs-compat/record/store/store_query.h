// What is drawn and measured of a store: counts by pixel, slices, neighbours. Costs grow with pixels, not with records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/row_subset.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::record {

// A row of pixels: pixel i shows [border(i), border(i + 1)).
struct PixelRow {
  std::uint64_t origin_ns = 0;
  double from_ns = 0;  // behind the origin, which keeps it small enough to be exact
  double ns_per_pixel = 1;
  std::uint32_t pixels = 0;

  std::uint64_t border(double pixel) const;
  double pixel_of(std::uint64_t ns) const;  // not rounded; may be outside
};

// A lane, or with no axis all records.
struct LaneKey {
  std::optional<Axis> axis;
  std::uint32_t id = 0;
  const RowSubset* only = nullptr;  // of the lane only these; nullptr: all
};

// Adds how many records of the lane each pixel shows. `counts` has row.pixels elements.
void count_by_pixel(const StoreView& view, LaneKey lane, const PixelRow& row, std::span<std::uint32_t> counts);

// Calls `visit(Row, time)` for the lane's records in [from_ns, to_ns), oldest first, until it returns false.
void visit_lane(const StoreView& view, LaneKey lane, std::uint64_t from_ns, std::uint64_t to_ns,
                const std::function<bool(Row, std::uint64_t)>& visit);
std::uint64_t count_lane(const StoreView& view, LaneKey lane, std::uint64_t from_ns, std::uint64_t to_ns);

// The lane's record nearest to the time, at most `within_ns` away.
std::optional<Row> nearest_in_lane(const StoreView& view, LaneKey lane, std::uint64_t ns, std::uint64_t within_ns);
// The lane's next record behind `row`, the one before it.
std::optional<Row> next_in_lane(const StoreView& view, LaneKey lane, Row row);
std::optional<Row> previous_in_lane(const StoreView& view, LaneKey lane, Row row);

struct Slice {
  Row begin = 0, end = 0;
  std::uint64_t from_ns = 0, to_ns = 0;
  std::uint32_t depth = 0;
  std::uint32_t event = 0;  // of `begin`
};
// The task's slices that touch [from_ns, to_ns) and take at least `min_ns` (more may come: down to half of it).
std::vector<Slice> slices_of(const StoreView& view, std::uint32_t task, std::uint64_t from_ns, std::uint64_t to_ns,
                             std::uint64_t min_ns);
// Calls `visit` for each slice of the task that touches [from_ns, to_ns), however short, in no order. Unlike the
// others it looks at every one.
void visit_slices(const StoreView& view, std::uint32_t task, std::uint64_t from_ns, std::uint64_t to_ns,
                  const std::function<void(const Slice&)>& visit);
// The same for the slices of all tasks that began before the time and end at it or behind.
void visit_open_slices(const StoreView& view, std::uint64_t ns, const std::function<void(const Slice&)>& visit);

}  // namespace kevt::record
