// How busy a lane is, pixel by pixel: what of a pixel's time its slices take, however short they are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gui/model/lanes.h"

namespace kevt::gui {

// One row of pixels. What is added is kept by colour, of which there are so many as can be told apart.
class BusyPixels {
 public:
  static constexpr std::uint32_t kColours = 8;

  explicit BusyPixels(const record::PixelRow& row) : row_(row), shares_(row.pixels) {}
  // Something of this colour takes [from_ns, to_ns). What is shorter than the clock can tell still shows.
  void add(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t colour);
  // Parts of the pixel's time, 0 to 1; `share` is at most 1 where slices lie above each other.
  double share(std::uint32_t pixel) const;
  double share(std::uint32_t pixel, std::uint32_t colour) const;

 private:
  double& part(double pixel, std::uint32_t colour) { return shares_[static_cast<std::size_t>(pixel)][colour]; }
  double sum(std::uint32_t pixel) const;

  record::PixelRow row_;
  std::vector<std::array<double, kColours>> shares_;
};

// Slices that touch [from_ns, to_ns): of a task its own, in no order; of an event those that it begins, of all tasks,
// in the order of their begin. With a filter those that it keeps.
void visitSlices(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns,
                 const std::function<void(const record::Slice&)>& visit);

// Of a task a row for each depth of its slices; what lies deeper than the last one is in the last one. Of an event one
// row: time in which any of its slices is open, in any task.
std::vector<BusyPixels> busyRows(const record::StoreView& view, const Lane& lane, const record::PixelRow& row,
                                 const Colouring& colouring);
inline constexpr std::uint32_t kMostLevels = 8;  // rows of a task

// What of [from_ns, to_ns) the lane is busy, 0 to 1; of a task: any of its slices is open.
double busyShare(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns);

}  // namespace kevt::gui
