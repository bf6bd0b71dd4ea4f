// Slices as parts of pixels.
//
//   pixels      |    0    |    1    |    2    |
//   slices      [ ][ ][  ] [      ]           [...
//   share           0.9       0.7        0
//
// Problem: a thousand calls may keep a pixel busy, although none of them is long enough to be drawn. Idea: every slice
// adds the part of each pixel that it takes, so at any zoom the shares show the time that slices take. In a task's row,
// which is one depth, slices do not overlap. In an event's row they come from many tasks, and time that is covered
// already is not added again.
#include "gui/model/busy_pixels.h"

#include <algorithm>
#include <cmath>

namespace kevt::gui {

namespace {
constexpr double kLeastShare = 1e-6;
}

void BusyPixels::add(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t colour) {
  colour %= kColours;
  const double width = row_.pixels;
  const double begin = row_.pixel_of(from_ns);
  const double left = std::max(0.0, begin), right = std::min(width, row_.pixel_of(to_ns));
  if (begin >= width || right < left || width == 0) return;
  const double first = std::floor(left), last = std::floor(right);
  if (first == last) {
    if (first < width) part(first, colour) += std::max(right - left, kLeastShare);
    return;
  }
  part(first, colour) += first + 1 - left;
  for (double pixel = first + 1; pixel < last; ++pixel) part(pixel, colour) += 1;
  if (last < width) part(last, colour) += right - last;
}

double BusyPixels::sum(std::uint32_t pixel) const {
  double sum = 0;
  for (const double one : shares_[pixel]) sum += one;
  return sum;
}

double BusyPixels::share(std::uint32_t pixel) const { return std::min(1.0, sum(pixel)); }

double BusyPixels::share(std::uint32_t pixel, std::uint32_t colour) const {
  return shares_[pixel][colour % kColours] / std::max(1.0, sum(pixel));
}

namespace {

void visitOfEvent(const record::StoreView& view, std::uint32_t event, std::uint64_t from_ns, std::uint64_t to_ns,
                  const std::function<void(const record::Slice&)>& visit) {
  std::vector<record::Slice> open;
  record::visit_open_slices(view, from_ns, [&](const record::Slice& slice) {
    if (slice.event == event) open.push_back(slice);
  });
  std::ranges::sort(open, {}, &record::Slice::from_ns);
  for (const record::Slice& slice : open) visit(slice);
  record::visit_lane(view, {record::Axis::Event, event}, from_ns, to_ns, [&](record::Row row, std::uint64_t ns) {
    const record::Row end = view.match(row);
    if (end != record::kNoRow && end > row)
      visit({.begin = row, .end = end, .from_ns = ns, .to_ns = view.time_ns(end), .depth = 0, .event = event});
    return true;
  });
}

// The part of each slice that no earlier slice covers; slices come in the order of begin.
class Uncovered {
 public:
  template <typename Take>
  void add(const record::Slice& slice, const Take& take) {
    const std::uint64_t from_ns = std::max(slice.from_ns, covered_ns_);
    if (slice.to_ns < from_ns || (slice.to_ns == from_ns && from_ns != slice.from_ns)) return;
    take(from_ns, slice.to_ns);
    covered_ns_ = slice.to_ns;
  }

 private:
  std::uint64_t covered_ns_ = 0;
};

}  // namespace

void visitSlices(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns,
                 const std::function<void(const record::Slice&)>& visit) {
  if (view.empty()) return;
  const auto kept = [&](const record::Slice& slice) {
    if (slice.end < view.rows() && (!lane.is_filtered || lane.only->keeps_slice(slice.begin, slice.end))) visit(slice);
  };
  if (lane.kind == Lane::Kind::Task) return record::visit_slices(view, lane.id, from_ns, to_ns, kept);
  if (lane.kind == Lane::Kind::Event) return visitOfEvent(view, lane.id, from_ns, to_ns, kept);
}

std::vector<BusyPixels> busyRows(const record::StoreView& view, const Lane& lane, const record::PixelRow& row,
                                 const Colouring& colouring) {
  const std::uint32_t levels = std::min(lane.levels, kMostLevels);
  std::vector<BusyPixels> rows(levels, BusyPixels(row));
  if (levels == 0) return rows;
  const bool is_event = lane.kind == Lane::Kind::Event;
  Uncovered uncovered;
  visitSlices(view, lane, row.border(0), row.border(row.pixels), [&](const record::Slice& slice) {
    const std::uint32_t colour = is_event || colouring.by == ColourBy::Event
                                     ? slice.event
                                     : colourNumber(view, colouring, slice.begin, slice.end);
    if (is_event)
      uncovered.add(slice, [&](std::uint64_t from, std::uint64_t to) { rows[0].add(from, to, colour); });
    else
      rows[std::min(slice.depth, levels - 1)].add(slice.from_ns, slice.to_ns, colour);
  });
  return rows;
}

double busyShare(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns) {
  if (to_ns <= from_ns) return 0;
  std::vector<record::Slice> slices;
  visitSlices(view, lane, from_ns, to_ns, [&](const record::Slice& slice) { slices.push_back(slice); });
  std::ranges::sort(slices, {}, &record::Slice::from_ns);
  Uncovered uncovered;
  std::uint64_t sum = 0;
  for (const record::Slice& slice : slices)
    uncovered.add(slice, [&](std::uint64_t from, std::uint64_t to) {
      const std::uint64_t left = std::max(from, from_ns), right = std::min(to, to_ns);
      if (right > left) sum += right - left;
    });
  return static_cast<double>(sum) / static_cast<double>(to_ns - from_ns);
}

}  // namespace kevt::gui
