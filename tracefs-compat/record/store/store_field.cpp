// Numeric fields as pyramids of factor 4.
//
//   level 0   5 7 2 9 4 4 1 8      level 1   [2,9] [1,8]     range(1, 7) = 7, then [..] where a whole node fits, then
//   the rest
#include "tracefs-compat/record/store/store_field.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kevt::record {

void FieldRange::add(double least_value, double greatest_value) {
  least = is_empty ? least_value : std::min(least, least_value);
  greatest = is_empty ? greatest_value : std::max(greatest, greatest_value);
  is_empty = false;
}

FieldPyramid::FieldPyramid(const StoreView& view, std::uint32_t event, std::string_view name,
                           const std::atomic<bool>& cancelled, const Only& only) {
  levels_.emplace_back();
  if (event >= view.names().events.size()) return;
  const Field* field = view.names().events[event]->find(name);
  if (field == nullptr || field->kind != FieldKind::Number) return;
  for (const auto& chunk : view.chunks()) {
    if (cancelled.load(std::memory_order_relaxed)) {
      times_.clear();
      levels_.assign(1, {});
      return;
    }
    for (const std::uint16_t local : chunk->lane(Axis::Event, event)) {
      if (only && !only(chunk->first_row + local, kNoRow)) continue;
      const Value value = value_of(*field, chunk->bytes(local));
      if (!value.is_number()) continue;
      const double number = as_double(value);
      if (!std::isfinite(number)) continue;
      times_.push_back(chunk->time_ns(local));
      levels_[0].emplace_back(number, number);
    }
  }
  build_levels();
}

FieldPyramid FieldPyramid::durations(const StoreView& view, std::uint32_t event, const std::atomic<bool>& cancelled,
                                     const Only& only) {
  FieldPyramid out;
  for (const auto& chunk : view.chunks()) {
    if (cancelled.load(std::memory_order_relaxed)) return {};
    for (const std::uint16_t local : chunk->lane(Axis::Event, event)) {
      const Row row = chunk->first_row + local;
      const Row end = chunk->match_of(local);
      if (end == kNoRow || end < row || end >= view.rows() || (only && !only(row, end))) continue;
      const std::uint64_t begin_ns = chunk->time_ns(local);
      const auto duration = static_cast<double>(view.time_ns(end) - begin_ns);
      out.times_.push_back(begin_ns);
      out.levels_[0].emplace_back(duration, duration);
    }
  }
  out.build_levels();
  return out;
}

void FieldPyramid::build_levels() {
  while (levels_.back().size() > 4) {
    const Level& below = levels_.back();
    Level level((below.size() + 3) / 4, {INFINITY, -INFINITY});
    for (std::size_t i = 0; i < below.size(); ++i) {
      level[i / 4].first = std::min(level[i / 4].first, below[i].first);
      level[i / 4].second = std::max(level[i / 4].second, below[i].second);
    }
    levels_.push_back(std::move(level));
  }
}

std::size_t FieldPyramid::lower_bound(std::uint64_t ns) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(times_, ns) - times_.begin());
}

FieldRange FieldPyramid::range(std::size_t begin, std::size_t end) const {
  FieldRange range;
  const auto take = [&](std::size_t level, std::size_t i) {
    range.add(levels_[level][i].first, levels_[level][i].second);
  };
  for (std::size_t level = 0; begin < end; ++level) {
    if (level + 1 == levels_.size()) {
      for (; begin < end; ++begin) take(level, begin);
      break;
    }
    for (; begin % 4 != 0 && begin < end; ++begin) take(level, begin);
    for (; end % 4 != 0 && begin < end; --end) take(level, end - 1);
    begin /= 4;
    end /= 4;
  }
  return range;
}

std::vector<FieldRange> FieldPyramid::by_pixel(const PixelRow& row) const {
  std::vector<FieldRange> out(row.pixels);
  const auto border = [&](double pixel) { return lower_bound(row.border(pixel)); };
  std::size_t at = border(0);
  for (std::uint32_t pixel = 0; pixel < row.pixels; ++pixel) {
    const std::size_t next = std::max(at, border(pixel + 1.0));
    out[pixel] = range(at, next);
    at = next;
  }
  return out;
}

Measured measure(std::vector<double> values) {
  Measured result{.count = values.size()};
  if (values.empty()) return result;
  const auto [least, greatest] = std::ranges::minmax(values);
  result.least = least;
  result.greatest = greatest;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  auto behind = values.begin();       // no value before it is greater than one from it on
  const auto at = [&](double part) {  // of ascending parts
    const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size()));
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size() - 1, place));
    std::nth_element(behind, nth, values.end());
    behind = nth;
    return *nth;
  };
  result.p50 = at(0.5);
  result.p99 = at(0.99);
  return result;
}

}  // namespace kevt::record
