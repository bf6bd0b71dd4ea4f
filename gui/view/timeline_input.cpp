// The timeline's mouse and keyboard.
//
//   drag: range      Ctrl+drag: zoom to it      middle drag, Shift+wheel: pan      wheel: lanes      Ctrl+wheel: zoom
//   Ctrl+Up, Ctrl+Down: choose a lane   Alt+Up, Alt+Down, drag its name: move it   P: pin it   Menu: what can be done
//   W S: zoom   A D, arrows: pan   F: fit selection   Z, Shift+Z: zoom history   [ ]: previous, next in lane   M:
//   marker Space: freeze   End: follow   Home: all
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

namespace {
constexpr int kSnapPixels = 6;
}

std::optional<record::Row> TimelineView::rowAt(QPointF at) const {
  const auto lane = laneAt(static_cast<int>(at.y()));
  if (!lane || lanes_[*lane].kind == Lane::Kind::Group || at.x() < kGutter || view_.empty()) return std::nullopt;
  const std::uint64_t ns = absoluteAt(at.x());
  const auto within = static_cast<std::uint64_t>(kSnapPixels * window_.ns_per_pixel) + 1;
  const int in_lane = static_cast<int>(at.y()) - laneRect(*lane).top();
  if (lanes_[*lane].kind == Lane::Kind::Task && lanes_[*lane].levels > 0 && in_lane >= 13) {
    const auto depth = static_cast<std::uint32_t>((in_lane - 13) / 17);
    for (const record::Slice& slice : record::slices_of(view_, lanes_[*lane].id, ns, ns + 1, 0))
      if (slice.depth == depth && slice.from_ns <= ns && ns <= slice.to_ns) return slice.begin;
  }
  return record::nearest_in_lane(view_, lanes_[*lane].key(), ns, within);
}

std::uint64_t TimelineView::snapped(double x, int y, bool snaps) const {
  const std::uint64_t ns = absoluteAt(x);
  if (!snaps) return ns;
  const auto lane = laneAt(y);
  const auto within = static_cast<std::uint64_t>(kSnapPixels * window_.ns_per_pixel) + 1;
  const auto row =
      record::nearest_in_lane(view_, lane ? lanes_[*lane].key() : record::LaneKey{.only = kept_.get()}, ns, within);
  return row ? view_.time_ns(*row) : ns;
}

QString TimelineView::tipAt(QPointF at) const {
  const auto row = rowAt(at);
  const auto lane = laneAt(static_cast<int>(at.y()));
  if (!lane || lanes_[*lane].kind == Lane::Kind::Group) return {};
  const record::PixelRow pixel{view_.first_ns(), timeAt(at.x() - 0.5), window_.ns_per_pixel, 1};
  const std::uint64_t here = record::count_lane(view_, lanes_[*lane].key(), pixel.border(0), pixel.border(1));
  QString tip = QStringLiteral("<b>%1</b>").arg(lanes_[*lane].title.toHtmlEscaped());
  for (const record::StoreGap& gap : view_.names().gaps)
    if (lanes_[*lane].kind == Lane::Kind::Cpu && gap.cpu == lanes_[*lane].id && gap.from_ns <= pixel.border(1) &&
        pixel.border(0) <= gap.to_ns)
      tip += QStringLiteral("<br>") + (gap.count == ~0ull ? tr("records were lost here; how many is not known")
                                                          : tr("%1 records were lost here").arg(grouped(gap.count)));
  if (here > 1)
    tip +=
        QStringLiteral("<br>") + tr("%1 records in this pixel (%2)").arg(grouped(here), duration(window_.ns_per_pixel));
  if (const QString scheduled = schedulingAt(lanes_[*lane], pixel.border(0.5)); !scheduled.isEmpty())
    tip += QStringLiteral("<br>") + scheduled;
  if (row) {
    tip += QStringLiteral("<pre style='margin:2px'>%1</pre>").arg(lineOf(*row).trimmed().toHtmlEscaped());
    if (const record::Row other = view_.match(*row); other != record::kNoRow) {
      const std::uint64_t a = view_.time_ns(*row), b = view_.time_ns(other);
      tip += tr("took %1").arg(duration(static_cast<double>(std::max(a, b) - std::min(a, b))));
    }
  }
  return tip;
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !view_.empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tipAt(help->pos()), viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineView::toggleGroup(const Lane& group) {
  const auto kind = static_cast<Lane::Kind>(group.id);
  if (std::erase(wishes_.collapsed, kind) == 0) wishes_.collapsed.push_back(kind);
  wishesChanged();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (view_.empty()) return;
  pressed_ = last_ = event->position();
  moved_ = false;
  const auto lane = laneAt(static_cast<int>(event->position().y()));
  if (event->button() == Qt::MiddleButton) {
    drag_ = Drag::Pan;
  } else if (event->button() != Qt::LeftButton) {
    return;
  } else if (event->position().y() < kOverview && event->position().x() >= kGutter) {
    drag_ = Drag::Overview;
    mouseMoveEvent(event);
  } else if (lane && lanes_[*lane].kind == Lane::Kind::Group) {
    toggleGroup(lanes_[*lane]);
  } else if (event->position().x() >= kGutter) {
    const bool has_control = event->modifiers() & Qt::ControlModifier;
    drag_ = has_control == (mouse_ == Mouse::Own) ? Drag::Zoom : Drag::Select;
    selected_lane_ = lane;
  } else if (lane) {
    drag_ = Drag::Lane;
    selectLane(*lane);
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::None) return;
  if ((at - pressed_).manhattanLength() > 4) moved_ = true;
  if (drag_ == Drag::Lane && selected_lane_) {
    const auto over = laneAt(static_cast<int>(at.y()));
    if (over && *over != *selected_lane_) moveLane(*selected_lane_, *over > *selected_lane_ ? 1 : -1);
  }
  if (drag_ == Drag::Pan) panBy(last_.x() - at.x());
  if (drag_ == Drag::Overview) {
    setFollowing(false);
    const double middle = (at.x() - kGutter) / laneWidth() * spanNs();
    applyWindow({middle - window_.ns_per_pixel * laneWidth() / 2, window_.ns_per_pixel}, false);
  }
  if ((drag_ == Drag::Select || drag_ == Drag::Zoom) && moved_) {
    const bool snaps = !(event->modifiers() & Qt::AltModifier);
    const std::uint64_t a = snapped(pressed_.x(), static_cast<int>(pressed_.y()), snaps);
    const std::uint64_t b = snapped(std::max<double>(kGutter, at.x()), static_cast<int>(at.y()), snaps);
    setRange(std::pair(std::min(a, b), std::max(a, b)));
  }
  last_ = at;
}

void TimelineView::finishDrag(QMouseEvent* event) {
  if (drag_ == Drag::Zoom && moved_) {
    zoomToSelection();
    setRange(std::nullopt);
  } else if ((drag_ == Drag::Select || mouse_ == Mouse::KernelShark) && !moved_) {
    if (range_) setRange(std::nullopt);
    if (const auto row = rowAt(event->position())) {
      selectRow(*row);
      Q_EMIT rowSelected(*row);
    }
  }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  finishDrag(event);
  drag_ = Drag::None;
  viewport()->update();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (mouse_ == Mouse::KernelShark) {
    if (!view_.empty() && event->position().x() >= kGutter)
      setMarker(active_marker_, snapped(event->position().x(), static_cast<int>(event->position().y()), true));
    return;
  }
  if (const auto row = rowAt(event->position()); row && view_.match(*row) != record::kNoRow) {
    selectRow(*row);
    Q_EMIT rowSelected(*row);
    zoomToSelection();
  }
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) {
    zoomBy(std::exp2(delta.y() / 240.0), event->position().x());
  } else if (event->modifiers() & Qt::ShiftModifier || std::abs(delta.x()) > std::abs(delta.y())) {
    panBy(-(delta.x() != 0 ? delta.x() : delta.y()));
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - delta.y() / 2);
  }
  event->accept();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const double middle = kGutter + laneWidth() / 2.0;
  const bool is_up = event->key() == Qt::Key_Up, is_down = event->key() == Qt::Key_Down;
  if ((is_up || is_down) && event->modifiers() & Qt::AltModifier) {
    if (selected_lane_) moveLane(*selected_lane_, is_up ? -1 : 1);
    return;
  }
  if ((is_up || is_down) && event->modifiers() & Qt::ControlModifier)
    return selectLane(!selected_lane_ ? 0 : *selected_lane_ + (is_up ? (*selected_lane_ ? ~std::size_t{0} : 0) : 1));
  const bool has_control = event->modifiers() & (Qt::ControlModifier | Qt::AltModifier);
  if (has_control) return QAbstractScrollArea::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoomBy(std::sqrt(2.0), middle);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomBy(1 / std::sqrt(2.0), middle);
    case Qt::Key_A:
    case Qt::Key_Left:
      return panBy(-laneWidth() / 10.0);
    case Qt::Key_D:
    case Qt::Key_Right:
      return panBy(laneWidth() / 10.0);
    case Qt::Key_Up:
      return verticalScrollBar()->triggerAction(QScrollBar::SliderSingleStepSub);
    case Qt::Key_Down:
      return verticalScrollBar()->triggerAction(QScrollBar::SliderSingleStepAdd);
    case Qt::Key_F:
      return zoomToSelection();
    case Qt::Key_Z:
      return event->modifiers() & Qt::ShiftModifier ? zoomForward() : zoomBack();
    case Qt::Key_BracketLeft:
      return stepInLane(-1);
    case Qt::Key_BracketRight:
      return stepInLane(1);
    case Qt::Key_M:
      return addMarker(selected_ ? view_.time_ns(*selected_)
                                 : snapped(viewport()->mapFromGlobal(QCursor::pos()).x(), kTop, true));
    case Qt::Key_P:
      if (selected_lane_ && lanes_[*selected_lane_].kind != Lane::Kind::Group) togglePinned(lanes_[*selected_lane_]);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (selected_lane_ && lanes_[*selected_lane_].kind == Lane::Kind::Group) toggleGroup(lanes_[*selected_lane_]);
      return;
    case Qt::Key_G:
      Q_EMIT timeWanted();
      return;
    case Qt::Key_Space:
      return setFrozen(!frozen_);
    case Qt::Key_Home:
      return zoomToAll();
    case Qt::Key_End:
      return setFollowing(true);
    case Qt::Key_Escape:
      return setRange(std::nullopt);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const auto lane = by_key ? selected_lane_ : laneAt(event->pos().y());
  if (!lane) return;
  const QPoint at = by_key ? viewport()->mapToGlobal(laneRect(*lane).topLeft()) : event->globalPos();
  Q_EMIT laneMenuWanted(lanes_[*lane], at);
}

}  // namespace kevt::gui
