// What lanes are drawn from besides records: plotted values, the scheduler's spans, the meaning of colours.
//
// Each is made in a worker from the present view, and shown when it is ready.
#include <QDropEvent>
#include <QMimeData>
#include <algorithm>

#include "gui/model/busy_pixels.h"
#include "gui/model/event_tree.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

std::shared_ptr<const record::FieldPyramid> TimelineView::fieldOf(const Lane& lane) {
  const QString name = lane.name(view_.names());
  if (const auto found = fields_.find(name); found != fields_.end()) return found->second;
  if (loading_fields_.contains(name)) return nullptr;
  loading_fields_[name] = jobs_.start(
      [view = view_, id = lane.id, field = lane.field.toStdString(), is_field = lane.kind == Lane::Kind::Field,
       only = plottedRows(lane)](const std::atomic<bool>& cancelled) {
        return std::make_shared<const record::FieldPyramid>(
            is_field ? record::FieldPyramid(view, id, field, cancelled, only)
                     : record::FieldPyramid::durations(view, id, cancelled, only));
      },
      [this, name](std::shared_ptr<const record::FieldPyramid> pyramid) {
        loading_fields_.erase(name);
        fields_[name] = std::move(pyramid);
        viewport()->update();
      });
  return nullptr;
}

void TimelineView::learnScheduling() {
  if (loading_sched_ || view_.rows() == sched_rows_ || !hasSchedEvents(view_.names())) return;
  sched_rows_ = view_.rows();
  loading_sched_ = jobs_.start(
      [view = view_](const std::atomic<bool>& cancelled) {
        return std::make_shared<const SchedSpans>(view, cancelled);
      },
      [this](std::shared_ptr<const SchedSpans> spans) {
        loading_sched_.reset();
        sched_ = std::move(spans);
        tiles_.refresh(Lane::Kind::Task);
        viewport()->update();
        learnScheduling();  // records that came meanwhile
      });
}

void TimelineView::repaintTiles() {
  tiles_.reset(view_, {viewport()->devicePixelRatioF(), colors_, wishes_.colouring});
  viewport()->update();
}

void TimelineView::setColouring(const Colouring& colouring) {
  wishes_.colouring = colouring;
  repaintTiles();
}

void TimelineView::setPatterns(bool patterns) {
  colors_.has_patterns = patterns;
  repaintTiles();
}

void TimelineView::setTimeFormat(TimeFormat format) {
  time_format_ = format;
  viewport()->update();
}

TimeOrigin TimelineView::origin() const {
  return {view_.empty() ? 0 : view_.first_ns(), document_.metadata()->wall_offset_ns};
}

void TimelineView::setFlags(std::vector<Flag> flags) {
  flags_ = std::move(flags);
  viewport()->update();
}

void TimelineView::addFound(const QString& text, const std::vector<record::Row>& rows) {
  wishes_.found.push_back({++found_lanes_, text, std::make_shared<const record::RowSubset>(document_.view(), rows)});
  wishesChanged();
}

// If the same filter only keeps more rows, because the trace grows, tiles before the new rows stay.
void TimelineView::setKept(std::shared_ptr<const record::RowSubset> kept) {
  if (kept_ == kept) return;
  const bool grows = kept_ && kept && kept->is_continued(*kept_);
  const std::size_t before = grows ? kept_->size() : 0;
  kept_ = std::move(kept);
  forgetFields();
  rebuildLanes();
  if (grows)
    tiles_.refreshFrom(before < kept_->size() ? (*kept_)[before] : view_.rows());
  else
    repaintTiles();
  viewport()->update();
}

QString TimelineView::emptyText() const {
  if (!view_.empty()) return {};
  if (frozen_ && newWhileFrozen() > 0)
    return tr("Frozen before the first record; %1 have come since. Space goes on.").arg(grouped(newWhileFrozen()));
  switch (document_.state()) {
    case TraceDocument::State::Loading:
      return tr("Loading …");
    case TraceDocument::State::Live:
      return tr("Waiting for the first record …");
    case TraceDocument::State::Loaded:
      return tr("There are no records in this trace.");
    case TraceDocument::State::Empty:
      break;
  }
  return tr(
      "No records yet.\n\nCtrl+R starts a program\nCtrl+Shift+A attaches to one that runs\n"
      "Ctrl+O opens a recording");
}

// The part of the pixel's time that the lane's slices take.
QString TimelineView::busyAt(const Lane& lane, std::uint64_t ns) const {
  if (lane.levels == 0) return {};
  const auto half = static_cast<std::uint64_t>(std::max(1.0, window_.ns_per_pixel / 2));
  const double share = busyShare(view_, lane, ns - std::min(ns, half), ns + half);
  return share <= 0 ? QString() : tr("busy for %1 % of this pixel's time").arg(share * 100, 0, 'g', 3);
}

QString TimelineView::scheduledAt(const Lane& lane, std::uint64_t ns) const {
  if (!sched_ || lane.kind != Lane::Kind::Task) return {};
  for (const SchedSpan& span : sched_->between(view_.names().tasks[lane.id].pid, ns, ns + 1)) {
    const QString took = duration(static_cast<double>(span.to_ns - span.from_ns));
    switch (span.kind) {
      case SchedSpan::Kind::Running:
        return tr("on a CPU for %1").arg(took);
      case SchedSpan::Kind::Woken:
        return tr("woken, waiting for a CPU for %1").arg(took);
      case SchedSpan::Kind::Preempted:
        return tr("preempted for %1").arg(took);
    }
  }
  return {};
}

QString TimelineView::schedulingAt(const Lane& lane, std::uint64_t ns) const {
  QStringList parts = {busyAt(lane, ns), scheduledAt(lane, ns)};
  parts.removeAll(QString());
  return parts.join(QStringLiteral(" · "));
}

void TimelineView::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasFormat(QString::fromLatin1(EventTree::kMimeType))) event->acceptProposedAction();
}

void TimelineView::dragMoveEvent(QDragMoveEvent* event) {
  if (event->mimeData()->hasFormat(QString::fromLatin1(EventTree::kMimeType))) event->acceptProposedAction();
}

void TimelineView::dropEvent(QDropEvent* event) {
  if (!event->mimeData()->hasFormat(QString::fromLatin1(EventTree::kMimeType))) return;
  event->acceptProposedAction();
  for (const QByteArray& name : event->mimeData()->data(QString::fromLatin1(EventTree::kMimeType)).split('\n'))
    if (!name.isEmpty()) Q_EMIT eventDropped(QString::fromUtf8(name));
}

}  // namespace kevt::gui
