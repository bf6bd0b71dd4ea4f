// The timeline's paintEvent: copies images of tiles, and draws labels, markers and selection over them.
//
// In place of a tile that is not painted yet, the tile of the former zoom is stretched, so that there are few blanks.
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/time_axis.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

namespace {

TileKey key_of(const Lane& lane, double ns_per_pixel, qint64 index) {
  return {static_cast<int>(lane.kind), lane.id, lane.field, lane.levels, ns_per_pixel, index};
}

double lightness(const QColor& c) { return 0.299 * c.redF() + 0.587 * c.greenF() + 0.114 * c.blueF(); }

}  // namespace

void TimelineView::paintEvent(QPaintEvent*) {
  QElapsedTimer timer;
  timer.start();
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), colors_.background);
  wanted_.clear();
  is_complete_ = true;
  if (view_.empty()) {
    paintEmpty(painter);
  } else {
    paintLanes(painter);
    paintOverlays(painter);
    paintAxis(painter);
    paintOverview(painter);
    paintLegend(painter);
    if (is_complete_) complete_scale_ = window_.ns_per_pixel;
    tiles_.want(std::move(wanted_));
  }
  last_paint_us_ = timer.nsecsElapsed() / 1000;
  painted_.start();
}

void TimelineView::paintEmpty(QPainter& painter) {
  painter.setPen(colors_.faint);
  painter.drawText(viewport()->rect(), Qt::AlignCenter, emptyText());
}

void TimelineView::paintLanes(QPainter& painter) {
  const QRect area(0, kTop, viewport()->width(), viewport()->height() - kTop - kLegend);
  painter.setClipRect(area);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const QRect rect = laneRect(i);
    if (rect.bottom() < area.top() || rect.top() > area.bottom()) continue;
    const Lane& lane = lanes_[i];
    if (lane.kind == Lane::Kind::Group || i == selected_lane_) {
      QColor back = lane.kind == Lane::Kind::Group ? colors_.band : colors_.selection;
      painter.fillRect(QRect(0, rect.top(), viewport()->width(), rect.height()), back);
    }
    if (lane.kind != Lane::Kind::Group) paintLane(painter, lane, rect);
    painter.setPen(colors_.line);
    painter.drawLine(0, rect.bottom(), viewport()->width(), rect.bottom());
    paintGutter(painter, lane, rect);
  }
  painter.setPen(colors_.line);
  painter.drawLine(kGutter - 1, kTop, kGutter - 1, viewport()->height());
  painter.setClipping(false);
}

void TimelineView::paintLane(QPainter& painter, const Lane& lane, const QRect& rect) {
  painter.save();
  painter.setClipRect(rect.intersected(QRect(kGutter, kTop, laneWidth(), viewport()->height() - kTop - kLegend)));
  const double wide = kTilePixels * window_.ns_per_pixel;
  const auto first = static_cast<qint64>(std::floor(window_.from_ns / wide));
  const auto last = static_cast<qint64>(std::floor((window_.from_ns + laneWidth() * window_.ns_per_pixel) / wide));
  const auto field = lane.isPlot() ? fieldOf(lane) : nullptr;
  for (qint64 index = std::max<qint64>(first, -1); index <= last; ++index) {
    if (static_cast<double>(index) * wide > spanNs()) break;
    if (!paintTile(painter, lane, rect, index, window_.ns_per_pixel)) {
      is_complete_ = false;
      paintStretched(painter, lane, rect, index);
    }
    if (lane.isPlot() && !field) {
      is_complete_ = false;
      continue;
    }
    wanted_.push_back(
        {key_of(lane, window_.ns_per_pixel, index), lane, field, lane.kind == Lane::Kind::Task ? sched_ : nullptr});
  }
  if (lane.kind == Lane::Kind::Cpu) paintLost(painter, lane, rect);
  if (field && field->size()) {
    const record::FieldRange whole = field->whole();
    const auto text = [&](double value) {
      return lane.kind == Lane::Kind::Field ? compactNumber(value) : duration(value);
    };
    painter.setPen(colors_.faint);
    painter.drawText(rect.adjusted(4, 1, -6, -1), Qt::AlignRight | Qt::AlignTop, text(whole.greatest));
    painter.drawText(rect.adjusted(4, 1, -6, -2), Qt::AlignRight | Qt::AlignBottom, text(whole.least));
  }
  painter.restore();
}

// Writes the number of lost records into each hatched gap of the lane that is wide enough.
void TimelineView::paintLost(QPainter& painter, const Lane& lane, const QRect& rect) {
  constexpr int kMost = 200;  // more cannot be told apart
  const auto& gaps = view_.names().gaps;
  const std::uint64_t from = absoluteAt(kGutter);
  const std::uint64_t to = absoluteAt(viewport()->width());
  auto gap = std::ranges::lower_bound(gaps, from, {}, &record::StoreGap::to_ns);
  double free_from = kGutter;
  int painted = 0;
  painter.setPen(colors_.text);
  for (; gap != gaps.end() && gap->from_ns <= to && painted < kMost; ++gap) {
    if (gap->cpu != lane.id) continue;
    const QString text = gap->count == ~0ull ? tr("lost") : tr("%1 lost").arg(grouped(gap->count));
    const int wide = painter.fontMetrics().horizontalAdvance(text) + 6;
    const double left = std::max(xOf(gap->from_ns), static_cast<double>(kGutter)) + 2;
    if (left < free_from) continue;
    const QRectF room(left, rect.top() + 2, wide, painter.fontMetrics().height());
    QColor back = colors_.background;
    back.setAlpha(200);
    painter.fillRect(room, back);
    painter.drawText(room, Qt::AlignCenter, text);
    free_from = left + wide + 8;
    ++painted;
  }
}

bool TimelineView::paintTile(QPainter& painter, const Lane& lane, const QRect& rect, qint64 index,
                             double ns_per_pixel) {
  const Tile* tile = tiles_.find(key_of(lane, ns_per_pixel, index));
  if (!tile) return false;
  const double left =
      kGutter + (static_cast<double>(index) * kTilePixels * ns_per_pixel - window_.from_ns) / window_.ns_per_pixel;
  const double ratio = viewport()->devicePixelRatioF();
  painter.drawImage(QPointF(std::round(left * ratio) / ratio, rect.top()), tile->image);
  if (!tile->labels.empty()) paintLabels(painter, lane, rect, *tile);
  return true;
}

// Stretches tiles of the last scale that was complete.
void TimelineView::paintStretched(QPainter& painter, const Lane& lane, const QRect& rect, qint64 index) {
  if (complete_scale_ <= 0 || complete_scale_ == window_.ns_per_pixel) return;
  const double wide = kTilePixels * window_.ns_per_pixel;
  const double old_wide = kTilePixels * complete_scale_;
  const double from = static_cast<double>(index) * wide;
  const auto first = static_cast<qint64>(std::floor(from / old_wide));
  const auto last = std::min(first + 8, static_cast<qint64>(std::floor((from + wide) / old_wide)));
  for (qint64 old = first; old <= last; ++old) {
    const Tile* tile = tiles_.find(key_of(lane, complete_scale_, old));
    if (!tile) continue;
    const double begin = std::max(from, static_cast<double>(old) * old_wide);
    const double end = std::min(from + wide, static_cast<double>(old + 1) * old_wide);
    const double pixels = static_cast<double>(tile->image.width()) / old_wide;
    const QRectF source((begin - static_cast<double>(old) * old_wide) * pixels, 0, (end - begin) * pixels,
                        tile->image.height());
    const QRectF target(kGutter + (begin - window_.from_ns) / window_.ns_per_pixel, rect.top(),
                        (end - begin) / window_.ns_per_pixel, lane.height);
    painter.drawImage(target, tile->image, source);
  }
}

void TimelineView::paintLabels(QPainter& painter, const Lane&, const QRect& rect, const Tile& tile) {
  const QFontMetrics metrics = painter.fontMetrics();
  for (const SliceLabel& label : tile.labels) {
    const double left = std::max<double>(kGutter, kGutter + (label.from_ns - window_.from_ns) / window_.ns_per_pixel);
    const double right =
        std::min<double>(viewport()->width(), kGutter + (label.to_ns - window_.from_ns) / window_.ns_per_pixel);
    if (right - left < 26) continue;
    const QColor fill = colors_.event(label.colour);
    painter.setPen(lightness(fill) > 0.55 ? QColor(0x10, 0x14, 0x1a) : QColor(Qt::white));
    QString text = QString::fromStdString(view_.names().events[label.event]->name);
    const QString timed = text + QStringLiteral("  ") + duration(label.to_ns - label.from_ns);
    const int room = static_cast<int>(right - left) - 7;
    if (metrics.horizontalAdvance(timed) <= room) text = timed;
    painter.drawText(QRectF(left + 4, rect.top() + label.top, room, label.height), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(text, Qt::ElideRight, room));
  }
}

void TimelineView::paintGutter(QPainter& painter, const Lane& lane, const QRect& rect) {
  const bool is_group = lane.kind == Lane::Kind::Group;
  const QRect gutter(0, rect.top(), kGutter - 8, rect.height() - 1);
  const int height = std::min(gutter.height(), 22);
  QFont font = painter.font();
  const QFont plain = font;
  const int indent = is_group ? 20 : 22;
  int note_width = 0;
  if (!lane.note.isEmpty()) {
    painter.setPen(colors_.faint);
    note_width = painter.fontMetrics().horizontalAdvance(lane.note) + 6;
    painter.drawText(QRect(0, gutter.top(), gutter.width(), height), Qt::AlignRight | Qt::AlignVCenter, lane.note);
  }
  font.setBold(is_group);
  painter.setFont(font);
  painter.setPen(colors_.text);
  const QRect title(indent, gutter.top(), gutter.width() - indent - note_width, height);
  painter.drawText(title, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(lane.title, Qt::ElideMiddle, title.width()));
  painter.setFont(plain);
  if (is_group) {
    const bool collapsed =
        std::ranges::find(wishes_.collapsed, static_cast<Lane::Kind>(lane.id)) != wishes_.collapsed.end();
    QPolygonF arrow;
    const double y = rect.top() + rect.height() / 2.0;
    if (collapsed)
      arrow << QPointF(8, y - 4) << QPointF(13, y) << QPointF(8, y + 4);
    else
      arrow << QPointF(6, y - 3) << QPointF(14, y - 3) << QPointF(10, y + 3);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(colors_.faint);
    painter.setPen(Qt::NoPen);
    painter.drawPolygon(arrow);
    painter.restore();
  } else if (lane.kind == Lane::Kind::Event || lane.isPlot()) {
    const QRect sample(9, gutter.top() + height / 2 - 4, 8, 8);
    painter.fillRect(sample, colors_.event(lane.id));
    painter.fillRect(sample, colors_.overlay(lane.id));
  }
}

void TimelineView::paintAxis(QPainter& painter) {
  const QRect rect(0, kOverview, viewport()->width(), kAxis);
  painter.fillRect(rect, colors_.band);
  painter.setPen(colors_.line);
  painter.drawLine(0, rect.bottom(), rect.right(), rect.bottom());
  const double to = window_.from_ns + laneWidth() * window_.ns_per_pixel;
  painter.save();
  painter.setClipRect(rect.adjusted(kGutter, 0, 0, 0));
  for (const AxisTick& tick : axisTicks(window_.from_ns, to, 96 * window_.ns_per_pixel)) {
    const double x = kGutter + (tick.ns - window_.from_ns) / window_.ns_per_pixel;
    painter.setPen(tick.text.isEmpty() ? colors_.line : colors_.faint);
    painter.drawLine(QPointF(x, rect.bottom() - (tick.text.isEmpty() ? 3 : 7)), QPointF(x, rect.bottom()));
    if (tick.text.isEmpty()) continue;
    painter.drawText(QRectF(x + 3, rect.top(), 120, rect.height() - 3), Qt::AlignLeft | Qt::AlignVCenter, tick.text);
  }
  painter.restore();
  painter.setPen(colors_.faint);
  painter.drawText(QRect(8, rect.top(), kGutter - 12, rect.height() - 2), Qt::AlignLeft | Qt::AlignVCenter,
                   QStringLiteral("0 = ") +
                       timeText(view_.first_ns(),
                                time_format_ == TimeFormat::Wall ? TimeFormat::Wall : TimeFormat::Trace, origin()));
}

void TimelineView::paintOverview(QPainter& painter) {
  const QRect rect(kGutter, 0, laneWidth(), kOverview);
  painter.fillRect(QRect(0, 0, viewport()->width(), kOverview), colors_.band);
  mini_map_.paint(painter, rect, view_, kept_, colors_);
  const auto x_of = [&](double ns) { return rect.left() + ns / (spanNs() + 1) * rect.width(); };
  double last = -1;
  for (const std::uint64_t mark : marks_) {
    const double x = std::floor(x_of(static_cast<double>(mark - std::min(mark, view_.first_ns()))));
    if (x == last) continue;
    last = x;
    painter.fillRect(QRectF(x, rect.bottom() - 5, 2, 5), colors_.accent);
  }
  for (const Marker& marker : markers_) {
    const double x = x_of(static_cast<double>(marker.ns - std::min(marker.ns, view_.first_ns())));
    painter.fillRect(QRectF(x, rect.top(), 1.5, rect.height()), colors_.marker);
  }
  const double left = std::max<double>(rect.left(), x_of(window_.from_ns));
  const double right = std::min<double>(rect.right(), x_of(window_.from_ns + laneWidth() * window_.ns_per_pixel));
  QColor shade = colors_.background;
  shade.setAlpha(150);
  painter.fillRect(QRectF(rect.left(), rect.top(), left - rect.left(), rect.height()), shade);
  painter.fillRect(QRectF(right, rect.top(), rect.right() - right + 1, rect.height()), shade);
  painter.setPen(QPen(colors_.accent, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(left, rect.top() + 0.5, std::max(2.0, right - left - 1), rect.height() - 2));
  painter.setPen(colors_.faint);
  painter.drawText(QRect(8, 0, kGutter - 12, kOverview), Qt::AlignLeft | Qt::AlignVCenter,
                   (kept_ ? tr("%1 of %2 records\n%3")
                                .arg(compactNumber(static_cast<double>(kept_->size())), compactNumber(view_.rows()),
                                     duration(spanNs()))
                          : tr("%1 records\n%2").arg(compactNumber(view_.rows()), duration(spanNs()))));
}

void TimelineView::paintMarker(QPainter& painter, const Marker& marker) {
  const double x = xOf(marker.ns);
  if (x < kGutter || x > viewport()->width()) return;
  painter.setPen(QPen(colors_.marker, 1.5));
  painter.drawLine(QPointF(x, kTop), QPointF(x, viewport()->height() - kLegend));
  const int wide = painter.fontMetrics().horizontalAdvance(marker.name) + 8;
  const QRectF flag(x, kTop, wide, 15);
  painter.fillRect(flag, colors_.marker);
  painter.setPen(colors_.background);
  painter.drawText(flag, Qt::AlignCenter, marker.name);
}

// Draws a small flag on the axis, a dotted line, and the text if there is room. A trigger's flag points right, a
// clock's left.
void TimelineView::paintFlags(QPainter& painter) {
  const int bottom = viewport()->height() - kLegend;
  double free_from = kGutter;
  auto flag = std::ranges::lower_bound(flags_, absoluteAt(kGutter), {}, &Flag::ns);
  for (; flag != flags_.end() && xOf(flag->ns) <= viewport()->width(); ++flag) {
    const double x = xOf(flag->ns);
    const bool is_clock = flag->kind == Flag::Kind::Clock;
    const QColor color = is_clock ? colors_.gap : colors_.marker;
    painter.setPen(QPen(color, 1, is_clock ? Qt::DashDotLine : Qt::DotLine));
    painter.drawLine(QPointF(x, kTop), QPointF(x, bottom));
    const double to = is_clock ? x - 9 : x + 9;
    painter.setBrush(color);
    painter.setPen(Qt::NoPen);
    painter.drawPolygon(QPolygonF({QPointF(x, kTop), QPointF(to, kTop + 5), QPointF(x, kTop + 10)}));
    painter.setBrush(Qt::NoBrush);
    const int wide = painter.fontMetrics().horizontalAdvance(flag->text);
    if (x < free_from || x + wide + 16 > viewport()->width()) continue;
    painter.setPen(colors_.text);
    painter.drawText(QRectF(x + 12, kTop, wide + 4, 14), Qt::AlignLeft | Qt::AlignVCenter, flag->text);
    free_from = x + wide + 24;
  }
}

void TimelineView::paintOverlays(QPainter& painter) {
  const QRect area(kGutter, kTop, laneWidth(), viewport()->height() - kTop - kLegend);
  painter.save();
  painter.setClipRect(area);
  if (range_) {
    const double left = xOf(range_->first);
    const double right = xOf(range_->second);
    const QRectF rect(std::max<double>(left, kGutter - 2), area.top(),
                      std::min<double>(right, area.right() + 2) - std::max<double>(left, kGutter - 2), area.height());
    painter.fillRect(rect, colors_.selection);
    painter.setPen(colors_.accent);
    painter.drawLine(QPointF(left, area.top()), QPointF(left, area.bottom()));
    painter.drawLine(QPointF(right, area.top()), QPointF(right, area.bottom()));
    const QString text = duration(static_cast<double>(range_->second - range_->first));
    const QRectF label((std::max(left, 1.0 * area.left()) + std::min(right, 1.0 * area.right())) / 2 - 60,
                       area.bottom() - 18, 120, 16);
    painter.drawText(label, Qt::AlignCenter, text);
  }
  if (selected_ && *selected_ < view_.rows()) {
    const double x = xOf(view_.time_ns(*selected_));
    painter.setPen(QPen(colors_.accent, 1.5));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  }
  paintFlags(painter);
  for (const Marker& marker : markers_) paintMarker(painter, marker);
  painter.restore();
  if (frozen_) {
    const QString text = tr("frozen: %1 new").arg(grouped(newWhileFrozen()));
    const QRect badge(viewport()->width() - painter.fontMetrics().horizontalAdvance(text) - 28, kTop + 6,
                      painter.fontMetrics().horizontalAdvance(text) + 18, 20);
    painter.fillRect(badge, colors_.accent);
    painter.setPen(palette().color(QPalette::HighlightedText));
    painter.drawText(badge, Qt::AlignCenter, text);
  }
}

// Returns its right end.
int TimelineView::paintSchedLegend(QPainter& painter, int x, const QRect& rect) {
  const struct {
    QBrush brush;
    QString text;
  } samples[] = {{colors_.faint, tr("on a CPU")},
                 {QBrush(colors_.accent, Qt::BDiagPattern), tr("woken")},
                 {QBrush(colors_.gap, Qt::DiagCrossPattern), tr("preempted")}};
  for (const auto& [brush, text] : samples) {
    const bool is_line = brush.style() == Qt::SolidPattern;
    painter.fillRect(QRect(x, rect.top() + (is_line ? 9 : 6), 16, is_line ? 2 : 8), brush);
    painter.setPen(colors_.faint);
    painter.drawText(QRect(x + 20, rect.top(), 100, rect.height()), Qt::AlignLeft | Qt::AlignVCenter, text);
    x += 32 + painter.fontMetrics().horizontalAdvance(text);
  }
  return x;
}

// The legend of columns, which stand for slices that are too short to be drawn. Returns its right end.
int TimelineView::paintBusyLegend(QPainter& painter, int x, const QRect& rect) {
  const QRect track(x, rect.top() + 4, 7, rect.height() - 7);
  painter.fillRect(track, colors_.track);
  painter.fillRect(track.adjusted(0, track.height() / 3, 0, 0), colors_.event(0));
  const QString text = tr("part of the time busy");
  painter.setPen(colors_.faint);
  painter.drawText(QRect(x + 12, rect.top(), 200, rect.height()), Qt::AlignLeft | Qt::AlignVCenter, text);
  return x + 24 + painter.fontMetrics().horizontalAdvance(text);
}

void TimelineView::paintLegend(QPainter& painter) {
  const QRect rect(0, viewport()->height() - kLegend, viewport()->width(), kLegend);
  painter.fillRect(rect, colors_.band);
  painter.setPen(colors_.line);
  painter.drawLine(rect.topLeft(), rect.topRight());
  painter.setPen(colors_.faint);
  int x = kGutter + 8;
  painter.drawText(QRect(8, rect.top(), kGutter, rect.height()), Qt::AlignLeft | Qt::AlignVCenter,
                   tr("records in a pixel"));
  for (const std::uint32_t count : {1u, 8u, 64u, 512u, 4096u}) {
    const double part = densityHeight(count);
    QColor color = count == 1 ? colors_.event(0) : colors_.density;
    if (count > 1) color.setAlphaF(static_cast<float>(0.45 + 0.55 * part));
    const int high = static_cast<int>(std::lround(14 * part));
    painter.fillRect(x, rect.bottom() - 3 - high, 7, high, color);
    const QString text = count == 4096 ? tr("4096 or more") : QString::number(count);
    painter.setPen(colors_.faint);
    painter.drawText(QRect(x + 11, rect.top(), 100, rect.height()), Qt::AlignLeft | Qt::AlignVCenter, text);
    x += 22 + painter.fontMetrics().horizontalAdvance(text);
  }
  if (std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.levels > 0; }))
    x = paintBusyLegend(painter, x + 6, rect);
  if (sched_ && !sched_->empty()) x = paintSchedLegend(painter, x + 6, rect);
  if (view_.names().gaps.empty()) return;
  std::uint64_t lost = 0;
  for (const record::StoreGap& gap : view_.names().gaps) lost += gap.count == ~0ull ? 0 : gap.count;
  QColor back = colors_.gap;
  back.setAlpha(48);
  const QRect sample(x + 6, rect.top() + 4, 18, rect.height() - 7);
  painter.fillRect(sample, back);
  painter.fillRect(sample, QBrush(colors_.gap, Qt::BDiagPattern));
  painter.setPen(colors_.faint);
  painter.drawText(QRect(x + 29, rect.top(), 300, rect.height()), Qt::AlignLeft | Qt::AlignVCenter,
                   tr("lost: %1 in %2 gaps").arg(grouped(lost)).arg(view_.names().gaps.size()));
}

}  // namespace kevt::gui
