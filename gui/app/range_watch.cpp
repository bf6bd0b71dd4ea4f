#include "gui/app/range_watch.h"

#include <QEvent>
#include <QTimer>
#include <QWidget>
#include <utility>

#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

namespace {

constexpr int kSoonMs = 120, kLiveMs = 1000;
constexpr record::Row kMostLive = 500'000;

}  // namespace

RangeWatch::RangeWatch(TraceDocument& document, TimelineView& timeline, QWidget& panel, std::function<bool()> isBusy)
    : QObject(&panel), document_(document), timeline_(timeline), delay_(new QTimer(this)), live_(new QTimer(this)) {
  delay_->setSingleShot(true);
  delay_->setInterval(kSoonMs);
  connect(delay_, &QTimer::timeout, this, &RangeWatch::due);
  connect(&timeline_, &TimelineView::rangeChanged, delay_, qOverload<>(&QTimer::start));
  connect(&document_, &TraceDocument::stateChanged, delay_, qOverload<>(&QTimer::start));
  live_->setSingleShot(true);
  live_->setInterval(kLiveMs);
  connect(live_, &QTimer::timeout, this, [this, isBusy = std::move(isBusy)] {
    if (isBusy())
      live_->start();
    else
      Q_EMIT due();
  });
  connect(&timeline_, &TimelineView::windowChanged, this, [this, &panel] {
    if (document_.state() != TraceDocument::State::Live || timeline_.range() || live_->isActive()) return;
    if (panel.isVisible())
      live_->start();
    else
      is_behind_ = true;
  });
  panel.installEventFilter(this);
}

// A page that nobody has seen did not follow the live trace.
bool RangeWatch::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Show && std::exchange(is_behind_, false)) lookAgain();
  return QObject::eventFilter(watched, event);
}

RangeWatch::Wanted RangeWatch::wanted() const {
  const record::StoreView& view = document_.view();
  Wanted wanted{Extent::Whole, timeline_.range()};
  if (wanted.range) {
    wanted.extent = Extent::Range;
  } else if (document_.state() == TraceDocument::State::Live && !view.empty()) {
    wanted = {Extent::InSight, timeline_.inSight()};
    const record::Row last = view.lower_bound(wanted.range->second + 1);
    if (last > kMostLive && view.lower_bound(wanted.range->first) < last - kMostLive)
      wanted.range->first = view.time_ns(last - kMostLive);
  }
  return wanted;
}

void RangeWatch::setKept(std::shared_ptr<const record::RowSubset> kept) {
  if (kept_ == kept) return;
  const bool grows = kept_ && kept && kept->is_continued(*kept_);
  kept_ = std::move(kept);
  // Of a live trace more comes all the time; the timer looks again.
  if (!grows || document_.state() != TraceDocument::State::Live) lookAgain();
}

void RangeWatch::lookAgain() { delay_->start(); }

bool RangeWatch::isWaiting() const { return delay_->isActive(); }

}  // namespace kevt::gui
