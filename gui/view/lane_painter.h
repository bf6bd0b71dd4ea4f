// LanePainter: paints one tile of a lane as an image. Runs in any thread; uses only its arguments.
#pragma once

#include <QImage>
#include <QString>
#include <memory>
#include <vector>

#include "gui/model/lanes.h"
#include "gui/model/sched_spans.h"
#include "gui/view/theme.h"
#include "tracefs-compat/record/store/store_field.h"

namespace kevt::gui {

inline constexpr int kTilePixels = 256;  // logical, across

// A slice that is wide enough for a name. The view draws the name, since it knows the visible part.
struct SliceLabel {
  double from_ns = 0, to_ns = 0;  // relative to the first record
  int top = 0, height = 0;
  record::Row begin = 0;
  std::uint32_t event = 0;
  std::uint32_t colour = 0;  // its number
};

struct Tile {
  QImage image;
  std::vector<SliceLabel> labels;
  QString note;  // greatest and least value of a plotted field
};

struct TileJob {
  record::StoreView view;
  Lane lane;
  record::PixelRow pixels;  // device pixels
  double device_ratio = 1;
  std::shared_ptr<const record::FieldPyramid> field;  // for a lane that is a plot
  std::shared_ptr<const SchedSpans> sched;            // for a task's lane; nullptr: no sched events
  Colouring colouring;
};

Tile paintTile(const TileJob& job, const LaneColors& colors);

// The rows of a heat map, from the bottom: each is half an octave of ns.
struct HeatScale {
  int first = 0;  // 2 log2 of the lowest row's least duration
  int rows = 1;
  int rowOf(double ns) const;
};
HeatScale heatScale(const record::FieldPyramid& durations);

// The height of a pixel with that many records, 0 to 1. It is the same at every zoom; the legend shows steps of a
// factor of 8.
double densityHeight(std::uint32_t count);

}  // namespace kevt::gui
