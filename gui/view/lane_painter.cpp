// Tiles.
//
// A pixel with one record is a tick in its event's colour; with more it is density: the lane's neutral colour, as high
// and as dense as their number, never the colour of one of them. Slices as long as a pixel are drawn as boxes, shorter
// ones are seen in the density above them. Lost records are hatched over the time they are missing in.
#include "gui/view/lane_painter.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace kevt::gui {
namespace {

constexpr int kSlicesTop = 13;
constexpr int kSliceHeight = 17;

class LanePainter {
 public:
  LanePainter(const TileJob& job, const LaneColors& colors) : job_(job), colors_(colors) {
    tile_.image =
        QImage(static_cast<int>(job.pixels.pixels), static_cast<int>(std::ceil(job.lane.height * job.device_ratio)),
               QImage::Format_ARGB32_Premultiplied);
    tile_.image.fill(Qt::transparent);
  }

  Tile paint() {
    QPainter painter(&tile_.image);
    painter_ = &painter;
    switch (job_.lane.kind) {
      case Lane::Kind::Cpu:
        density(scaled(3), scaled(job_.lane.height - 5));
        gaps();
        break;
      case Lane::Kind::Task:
        if (job_.lane.levels == 0) {
          density(scaled(3), scaled(job_.lane.height - 5));
        } else {
          density(scaled(2), scaled(kSlicesTop - 3));
          slices();
        }
        break;
      case Lane::Kind::Event:
        density(scaled(3), scaled(job_.lane.height - 5));
        break;
      case Lane::Kind::Field:
        values();
        break;
      case Lane::Kind::Group:
      case Lane::Kind::Pinned:
        break;
    }
    painter.end();
    tile_.image.setDevicePixelRatio(job_.device_ratio);
    return std::move(tile_);
  }

 private:
  int scaled(int pixels) const { return static_cast<int>(std::lround(pixels * job_.device_ratio)); }

  void density(int top, int height) {
    std::vector<std::uint32_t> counts(job_.pixels.pixels);
    record::count_by_pixel(job_.view, job_.lane.key(), job_.pixels, counts);
    for (std::uint32_t x = 0; x < counts.size(); ++x) {
      if (counts[x] == 0) continue;
      if (counts[x] == 1) {
        single(static_cast<int>(x), top, height);
        continue;
      }
      const double part = densityHeight(counts[x]);
      const int high = std::max(2, static_cast<int>(std::lround(height * part)));
      QColor color = job_.lane.kind == Lane::Kind::Event ? colors_.event(job_.lane.id) : colors_.density;
      color.setAlphaF(static_cast<float>(0.45 + 0.55 * part));
      painter_->fillRect(static_cast<int>(x), top + height - high, 1, high, color);
    }
  }

  void single(int x, int top, int height) {
    std::uint32_t event = job_.lane.id;
    if (job_.lane.kind != Lane::Kind::Event) {
      record::visit_lane(job_.view, job_.lane.key(), job_.pixels.border(x), job_.pixels.border(x + 1),
                         [&](record::Row row, std::uint64_t) {
                           event = job_.view.event(row);
                           return false;
                         });
    }
    const int high = std::max(2, static_cast<int>(std::lround(height * densityHeight(1))));
    const int wide = std::max(1, scaled(1));
    painter_->fillRect(x, top + height - high, wide, high, colors_.event(event));
  }

  void slices() {
    const double ns_per_pixel = job_.pixels.ns_per_pixel;
    auto slices =
        record::slices_of(job_.view, job_.lane.id, job_.pixels.border(0), job_.pixels.border(job_.pixels.pixels),
                          static_cast<std::uint64_t>(std::max(0.0, ns_per_pixel)));
    std::ranges::sort(slices, {}, [](const record::Slice& s) { return std::pair(s.depth, s.from_ns); });
    const std::uint32_t levels = std::min(job_.lane.levels, 8u);
    const double ratio = job_.device_ratio;
    for (const record::Slice& slice : slices) {
      const std::uint32_t depth = std::min(slice.depth, levels - 1);
      const int top = kSlicesTop + static_cast<int>(depth) * kSliceHeight;
      const double left = job_.pixels.pixel_of(slice.from_ns);
      const double right = job_.pixels.pixel_of(slice.to_ns);
      const std::uint32_t event = job_.view.event(slice.begin);
      const double x = std::max(left, -2.0);
      const QRectF box(x, top * ratio, std::max(1.0, std::min(right, job_.pixels.pixels + 2.0) - x),
                       (kSliceHeight - 2) * ratio);
      QColor fill = colors_.event(event);
      painter_->fillRect(box, fill);
      if (box.width() > 3 * ratio) {
        painter_->setPen(QPen(colors_.background, 1));
        painter_->drawLine(box.topRight(), box.bottomRight());
      }
      if (right - left > 26 * ratio) {
        const double origin = static_cast<double>(slice.from_ns - job_.pixels.origin_ns);
        tile_.labels.push_back({origin, origin + static_cast<double>(slice.to_ns - slice.from_ns), top,
                                kSliceHeight - 2, slice.begin, event});
      }
    }
  }

  void gaps() {
    QColor color = colors_.gap;
    const QBrush hatch(color, Qt::BDiagPattern);
    color.setAlpha(48);
    for (const record::StoreGap& gap : job_.view.names().gaps) {
      if (gap.cpu != job_.lane.id) continue;
      const double left = job_.pixels.pixel_of(gap.from_ns);
      const double right = std::max(left + 3, job_.pixels.pixel_of(gap.to_ns));
      if (right < 0 || left > job_.pixels.pixels) continue;
      const QRectF box(std::max(left, -4.0), 0, std::min(right, job_.pixels.pixels + 4.0) - std::max(left, -4.0),
                       tile_.image.height());
      painter_->fillRect(box, color);
      painter_->fillRect(box, hatch);
    }
  }

  void values() {
    if (!job_.field || job_.field->size() == 0) return;
    record::FieldRange whole = job_.field->whole();
    if (whole.least == whole.greatest) whole.greatest += 1;
    const double height = scaled(job_.lane.height - 8);
    const double top = scaled(4);
    const auto y_of = [&](double value) {
      return top + height - (value - whole.least) / (whole.greatest - whole.least) * height;
    };
    const std::vector<record::FieldRange> pixels = job_.field->by_pixel(job_.pixels);
    const QColor color = colors_.event(job_.lane.id);
    for (std::size_t x = 0; x < pixels.size(); ++x) {
      if (pixels[x].is_empty) continue;
      const double high = y_of(pixels[x].greatest);
      const double low = y_of(pixels[x].least);
      QColor stem = color;
      stem.setAlpha(60);
      painter_->fillRect(QRectF(static_cast<double>(x), low, 1, top + height - low), stem);
      painter_->fillRect(QRectF(static_cast<double>(x), high, 1, std::max(2.0 * job_.device_ratio, low - high)), color);
    }
  }

  const TileJob& job_;
  const LaneColors& colors_;
  Tile tile_;
  QPainter* painter_ = nullptr;
};

}  // namespace

double densityHeight(std::uint32_t count) {
  if (count == 0) return 0;
  return std::min(1.0, 0.34 + 0.66 * std::log2(static_cast<double>(count)) / 12);
}

Tile paintTile(const TileJob& job, const LaneColors& colors) { return LanePainter(job, colors).paint(); }

}  // namespace kevt::gui
