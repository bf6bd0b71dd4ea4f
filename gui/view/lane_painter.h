// LanePainter: one tile of a lane as an image. Runs in any thread; touches the view it is given and nothing else.
#pragma once

#include <QImage>
#include <QString>
#include <memory>
#include <vector>

#include "gui/model/lanes.h"
#include "gui/view/theme.h"
#include "tracefs-compat/record/store_field.h"

namespace kevt::gui {

inline constexpr int kTilePixels = 256;  // logical, across

// A slice that is wide enough to be named. Drawn by the view, where its visible part is known.
struct SliceLabel {
  double from_ns = 0, to_ns = 0;  // behind the origin
  int top = 0, height = 0;
  record::Row begin = 0;
  std::uint32_t event = 0;
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
  std::shared_ptr<const record::FieldPyramid> field;  // Lane::Kind::Field
};

Tile paintTile(const TileJob& job, const LaneColors& colors);

// How high a pixel with that many records is, 0 to 1: the same at every zoom, in steps of a factor of 8 that the legend
// shows.
double densityHeight(std::uint32_t count);

}  // namespace kevt::gui
