// FieldPyramid: one numeric field of one event over the whole store, with the least and the greatest value of every
// 4, 16, 64 … of them, so that a pixel over a million values is answered from a few nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tracefs-compat/record/store/store_query.h"

namespace kevt::record {

struct FieldRange {
  double least = 0, greatest = 0;
  bool is_empty = true;
  void add(double least_value, double greatest_value);
};

class FieldPyramid {
 public:
  // Which records count; of durations `end` is the slice's other one, else kNoRow. Empty: all of them.
  using Only = std::function<bool(Row row, Row end)>;

  // `event` is an index into the names' events. A field that is not there, or no number, gives an empty pyramid.
  // Ends early, and empty, when `cancelled` becomes true.
  FieldPyramid(const StoreView& view, std::uint32_t event, std::string_view field, const std::atomic<bool>& cancelled,
               const Only& only = {});

  // How long the event's slices took, in nanoseconds, each at the time it began. Slices that never ended are left out.
  static FieldPyramid durations(const StoreView& view, std::uint32_t event, const std::atomic<bool>& cancelled,
                                const Only& only = {});

  std::size_t size() const { return times_.size(); }
  double value(std::size_t i) const { return levels_[0][i].first; }
  std::uint64_t time_ns(std::size_t i) const { return times_[i]; }
  // First value at or behind the time; size() when there is none.
  std::size_t lower_bound(std::uint64_t ns) const;
  FieldRange range(std::size_t begin, std::size_t end) const;
  FieldRange whole() const { return range(0, size()); }
  // What each pixel shows.
  std::vector<FieldRange> by_pixel(const PixelRow& row) const;

 private:
  FieldPyramid() { levels_.emplace_back(); }
  void build_levels();

  using Level = std::vector<std::pair<double, double>>;
  std::vector<std::uint64_t> times_;
  std::vector<Level> levels_;  // 0: the values themselves
};

// Of numbers: count, least, mean, middle, 99th percentile, greatest.
struct Measured {
  std::uint64_t count = 0;
  double least = 0, mean = 0, p50 = 0, p99 = 0, greatest = 0;
};
Measured measure(std::vector<double> values);

}  // namespace kevt::record
