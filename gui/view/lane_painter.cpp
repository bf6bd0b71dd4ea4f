// Tiles.
//
// A pixel with one record is a tick in the event's colour. A pixel with more shows their density: a bar in the lane's
// neutral colour whose height grows with their number. Slices of at least a few pixels are boxes. Shorter ones are
// summed up: a column as high as the part of the pixel's time that slices take, divided by colours. The time in which
// records were lost is hatched.
#include "gui/view/lane_painter.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/model/busy_pixels.h"

namespace kevt::gui {
namespace {

constexpr int kSlicesTop = 13;
constexpr int kSliceHeight = 17;
constexpr int kBoxPixels = 3;   // shorter slices are columns
constexpr int kLeastPart = 7;   // a column has at least 1/7 of the height
constexpr int kBusyHeight = 8;  // below an event's records
constexpr int kHeatPixels = 3;
constexpr int kSchedHeight = 6;  // below a task's slices

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
          density(scaled(3), scaled(job_.lane.height - 5 - (job_.sched ? kSchedHeight : 0)));
        } else {
          density(scaled(2), scaled(kSlicesTop - 3));
          slices();
        }
        if (job_.sched) scheduling();
        break;
      case Lane::Kind::Event:
        density(scaled(3), scaled(job_.lane.height - 5 - (job_.lane.levels ? kBusyHeight + 1 : 0)));
        if (job_.lane.levels) busyEvent();
        break;
      case Lane::Kind::Found:
        density(scaled(3), scaled(job_.lane.height - 5));
        break;
      case Lane::Kind::Field:
      case Lane::Kind::Latency:
        values();
        break;
      case Lane::Kind::Heat:
        heat();
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
    std::uint32_t colour = job_.lane.id;
    if (job_.lane.kind != Lane::Kind::Event || job_.colouring.by != ColourBy::Event) {
      record::visit_lane(job_.view, job_.lane.key(), job_.pixels.border(x), job_.pixels.border(x + 1),
                         [&](record::Row row, std::uint64_t) {
                           colour = colourNumber(job_.view, job_.colouring, row, job_.view.match(row));
                           return false;
                         });
    }
    const int high = std::max(2, static_cast<int>(std::lround(height * densityHeight(1))));
    const int wide = std::max(1, scaled(1));
    painter_->fillRect(x, top + height - high, wide, high, colors_.event(colour));
  }

  // As high as the part of the pixel's time that is taken, but at least 1/kLeastPart of the height.
  void column(std::uint32_t x, const BusyPixels& busy, int top, int height) {
    const double share = busy.share(x);
    if (share <= 0) return;
    const int high = std::max(std::max(1, height / kLeastPart), static_cast<int>(std::lround(height * share)));
    double below = 0;
    int bottom = top + height;
    for (std::uint32_t colour = 0; colour < BusyPixels::kColours; ++colour) {
      const double part = busy.share(x, colour);
      if (part <= 0) continue;
      below += part;
      const int to = top + height - static_cast<int>(std::lround(high * std::min(1.0, below / share)));
      painter_->fillRect(static_cast<int>(x), to, 1, bottom - to, colors_.event(colour));
      bottom = to;
    }
  }

  void slices() {
    const std::uint32_t levels = std::min(job_.lane.levels, kMostLevels);
    const auto rows = busyRows(job_.view, job_.lane, job_.pixels, job_.colouring);
    for (std::uint32_t level = 0; level < rows.size(); ++level)
      for (std::uint32_t x = 0; x < job_.pixels.pixels; ++x)
        column(x, rows[level], scaled(kSlicesTop + static_cast<int>(level) * kSliceHeight), scaled(kSliceHeight - 2));
    const double shortest = kBoxPixels * job_.device_ratio * job_.pixels.ns_per_pixel;
    auto slices = record::slices_of(job_.view, job_.lane.id, job_.pixels.border(0),
                                    job_.pixels.border(job_.pixels.pixels), static_cast<std::uint64_t>(shortest));
    std::erase_if(slices, [&](const record::Slice& slice) {
      return static_cast<double>(slice.to_ns - slice.from_ns) < shortest ||
             (job_.lane.is_filtered && !job_.lane.only->keeps_slice(slice.begin, slice.end));
    });
    std::ranges::sort(slices, {}, [](const record::Slice& s) { return std::pair(s.depth, s.from_ns); });
    for (const record::Slice& slice : slices) box(slice, std::min(slice.depth, levels - 1));
  }

  void box(const record::Slice& slice, std::uint32_t depth) {
    const double ratio = job_.device_ratio;
    const int top = kSlicesTop + static_cast<int>(depth) * kSliceHeight;
    const double left = job_.pixels.pixel_of(slice.from_ns);
    const double right = job_.pixels.pixel_of(slice.to_ns);
    const double x = std::max(left, -2.0);
    const QRectF box(x, top * ratio, std::max(1.0, std::min(right, job_.pixels.pixels + 2.0) - x),
                     (kSliceHeight - 2) * ratio);
    const std::uint32_t colour = colourNumber(job_.view, job_.colouring, slice.begin, slice.end);
    painter_->fillRect(box, colors_.event(colour));
    painter_->fillRect(box, colors_.overlay(colour));
    painter_->setPen(QPen(colors_.background, 1));
    painter_->drawLine(box.topRight(), box.bottomRight());
    if (right - left <= 26 * ratio) return;
    const double origin = static_cast<double>(slice.from_ns - job_.pixels.origin_ns);
    tile_.labels.push_back({origin, origin + static_cast<double>(slice.to_ns - slice.from_ns), top, kSliceHeight - 2,
                            slice.begin, slice.event, colour});
  }

  // A strip that shows in which part of the time some call of the event is open.
  void busyEvent() {
    const int top = scaled(job_.lane.height - kBusyHeight - 1), height = scaled(kBusyHeight - 1);
    painter_->fillRect(0, top, tile_.image.width(), height, colors_.track);
    const auto rows = busyRows(job_.view, job_.lane, job_.pixels, job_.colouring);
    for (std::uint32_t x = 0; x < job_.pixels.pixels; ++x) column(x, rows[0], top, height);
  }

  // Running: a thin line; woken and waiting: hatched, framed; preempted: crossed, framed. If a pixel has several spans,
  // only the first one is drawn.
  void scheduling() {
    const std::int32_t pid = job_.view.names().tasks[job_.lane.id].pid;
    const double top = scaled(job_.lane.height - kSchedHeight - 1), high = scaled(kSchedHeight - 1);
    double free_from = -1;
    for (const SchedSpan& span :
         job_.sched->between(pid, job_.pixels.border(0), job_.pixels.border(job_.pixels.pixels))) {
      const double left = std::max(-2.0, job_.pixels.pixel_of(span.from_ns));
      const double right = std::min(job_.pixels.pixels + 2.0, job_.pixels.pixel_of(span.to_ns));
      if (right < free_from) continue;
      const QRectF box(left, top, std::max(1.0, right - left), high);
      free_from = std::floor(box.right()) + 1;
      if (span.kind == SchedSpan::Kind::Running) {
        painter_->fillRect(box.adjusted(0, high / 3, 0, -high / 3), colors_.faint);
        continue;
      }
      const bool is_woken = span.kind == SchedSpan::Kind::Woken;
      const QColor color = is_woken ? colors_.accent : colors_.gap;
      painter_->fillRect(box, QBrush(color, is_woken ? Qt::BDiagPattern : Qt::DiagCrossPattern));
      painter_->setPen(QPen(color, 1));
      painter_->drawRect(box.adjusted(0, 0, -1, -1));
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

  // Durations over time: a cell is a few pixels wide and half an octave high; the more slices of such a duration begin
  // in it, the denser it is. This walks over all values, which is fine in a worker.
  void heat() {
    if (!job_.field || job_.field->size() == 0) return;
    const HeatScale scale = heatScale(*job_.field);
    const int wide = std::max(1, scaled(kHeatPixels));
    const double row_height = static_cast<double>(tile_.image.height() - scaled(8)) / scale.rows;
    const double bottom = tile_.image.height() - scaled(4);
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(scale.rows));
    QColor color = colors_.event(job_.lane.id);
    for (int x = 0; x < tile_.image.width(); x += wide) {
      std::ranges::fill(counts, 0);
      const std::size_t end = job_.field->lower_bound(job_.pixels.border(x + wide));
      for (std::size_t i = job_.field->lower_bound(job_.pixels.border(x)); i < end; ++i)
        ++counts[static_cast<std::size_t>(scale.rowOf(job_.field->value(i)))];
      for (int row = 0; row < scale.rows; ++row) {
        if (counts[static_cast<std::size_t>(row)] == 0) continue;
        color.setAlphaF(static_cast<float>(0.15 + 0.85 * densityHeight(counts[static_cast<std::size_t>(row)])));
        painter_->fillRect(QRectF(x, bottom - (row + 1) * row_height, wide, row_height), color);
      }
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

int HeatScale::rowOf(double ns) const {
  const double half_octaves = 2 * std::log2(std::max(1.0, ns));
  return std::clamp(static_cast<int>(std::floor(half_octaves)) - first, 0, rows - 1);
}

HeatScale heatScale(const record::FieldPyramid& durations) {
  const record::FieldRange whole = durations.whole();
  HeatScale scale{static_cast<int>(std::floor(2 * std::log2(std::max(1.0, whole.least)))), 1};
  scale.rows = static_cast<int>(std::floor(2 * std::log2(std::max(1.0, whole.greatest)))) - scale.first + 1;
  return scale;
}

Tile paintTile(const TileJob& job, const LaneColors& colors) { return LanePainter(job, colors).paint(); }

}  // namespace kevt::gui
