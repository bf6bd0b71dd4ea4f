// How busy a lane is, pixel by pixel: the part of each pixel's time that slices take, however short the slices are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gui/model/lanes.h"

namespace kevt::gui {

// One row of pixels. Shares are kept by colour; there are as many colours as can be told apart.
class BusyPixels {
 public:
  static constexpr std::uint32_t kColours = 8;

  explicit BusyPixels(const record::PixelRow& row) : row_(row), shares_(row.pixels) {}
  // Adds a slice [from_ns, to_ns) of this colour. A very short slice still gets a small share.
  void add(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t colour);
  // The part of the pixel's time that slices take, or those of one colour: 0 to 1, also where slices overlap.
  double share(std::uint32_t pixel) const;
  double share(std::uint32_t pixel, std::uint32_t colour) const;

 private:
  double& part(double pixel, std::uint32_t colour) { return shares_[static_cast<std::size_t>(pixel)][colour]; }
  double sum(std::uint32_t pixel) const;

  record::PixelRow row_;
  std::vector<std::array<double, kColours>> shares_;
};

// Visits slices that touch [from_ns, to_ns). For a task's lane: the task's slices, in no order. For an event's lane:
// slices that the event begins, of all tasks, in the order of begin. With a filter only slices that it keeps.
void visitSlices(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns,
                 const std::function<void(const record::Slice&)>& visit);

// For a task's lane one row per depth of slices; deeper ones than kMostLevels are in the last row. For an event's lane
// one row: the time in which any of its slices is open, in any task.
std::vector<BusyPixels> busyRows(const record::StoreView& view, const Lane& lane, const record::PixelRow& row,
                                 const Colouring& colouring);
inline constexpr std::uint32_t kMostLevels = 8;  // rows of a task

// The part of [from_ns, to_ns) in which the lane is busy, 0 to 1; for a task's lane, in which any of its slices is
// open.
double busyShare(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns);

}  // namespace kevt::gui
