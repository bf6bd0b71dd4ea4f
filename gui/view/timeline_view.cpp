// The timeline: which lanes and which time are shown, and how that changes.
//
// Times are doubles, in ns after the first record: exact to the nanosecond for a hundred days. While a trace grows, a
// window that shows everything goes on showing everything. A following window keeps its width and stays at the end;
// any other stays where it is.
#include "gui/view/timeline_view.h"

#include <QCoreApplication>
#include <QEvent>
#include <QScrollBar>
#include <QTimer>
#include <algorithm>
#include <cmath>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_accessible.h"

namespace kevt::gui {

namespace {
constexpr double kLeastNsPerPixel = 0.02;
constexpr std::size_t kMaxHistory = 64;
constexpr int kLanesEveryMs = 400;
constexpr double kEdge = 0.005;  // of the width: free on each side of a whole trace
constexpr double kStepsOfOctave = 16;
}  // namespace

TimelineView::TimelineView(TraceDocument& document, QWidget* parent)
    : QAbstractScrollArea(parent),
      document_(document),
      colors_(palette()),
      tiles_(this),
      mini_map_(this, [this] { viewport()->update(); }),
      next_frame_(new QTimer(this)),
      jobs_(this, 1) {
  installTimelineAccessibility();
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setAcceptDrops(true);
  viewport()->setAcceptDrops(true);
  setAccessibleName(tr("Timeline"));
  setMinimumHeight(160);
  connect(&document_, &TraceDocument::reset, this, &TimelineView::takeReset);
  connect(&document_, &TraceDocument::viewChanged, this, &TimelineView::takeView);
  connect(&document_, &TraceDocument::stateChanged, this, &TimelineView::takeState);
  connect(&tiles_, &TileRenderer::tilesReady, this, &TimelineView::showTilesSoon);
  next_frame_->setSingleShot(true);
  next_frame_->setTimerType(Qt::PreciseTimer);
  connect(next_frame_, &QTimer::timeout, viewport(), qOverload<>(&QWidget::update));
  takeReset();
  takeView();
}

TimelineView::~TimelineView() {
  for (auto& [name, cancelled] : loading_fields_) *cancelled = true;
  if (loading_sched_) *loading_sched_ = true;
}

// A screen has some hundred tiles, which come one by one: those of a frame are shown together.
void TimelineView::showTilesSoon() {
  constexpr qint64 kFrameMs = 16;
  if (next_frame_->isActive()) return;
  const qint64 since_ms = painted_.isValid() ? painted_.elapsed() : kFrameMs;
  next_frame_->start(static_cast<int>(std::max<qint64>(kFrameMs - since_ms, 0)));
}

// A trace that has ended grows no more: following ends, and records that came while the view was frozen are shown.
void TimelineView::takeState() {
  if (document_.state() != TraceDocument::State::Live) {
    if (frozen_) setFrozen(false);
    if (follows_) setFollowing(false);
    if (shows_all_ && !view_.empty()) applyWindow(windowOfAll(), false);
  }
  wishesChanged();
}

void TimelineView::forgetFields() {
  fields_.clear();
  for (auto& [name, cancelled] : loading_fields_) *cancelled = true;
  loading_fields_.clear();
}

void TimelineView::takeReset() {
  view_ = {};
  kept_.reset();
  forgetFields();
  if (loading_sched_) *loading_sched_ = true;
  loading_sched_.reset();
  sched_.reset();
  sched_rows_ = 0;
  markers_.clear();
  marks_.clear();
  flags_.clear();
  wishes_.found.clear();
  selected_.reset();
  selected_lane_.reset();
  range_.reset();
  history_.clear();
  history_at_ = 0;
  mini_map_.reset();
  shows_all_ = true;
  frozen_ = false;
  follows_ = document_.state() == TraceDocument::State::Live;
  window_ = {};
  repaintTiles();
  rebuildLanes();
  Q_EMIT modeChanged();
  Q_EMIT markersChanged();
  viewport()->update();
}

void TimelineView::takeView() {
  if (frozen_) {
    Q_EMIT modeChanged();
    viewport()->update();
    return;
  }
  const bool was_empty = view_.empty();
  view_ = document_.view();
  fields_.clear();
  if (was_empty)
    repaintTiles();
  else
    tiles_.grow(view_);
  learnScheduling();
  if (was_empty || !grows() || !since_lanes_.isValid() || since_lanes_.elapsed() > kLanesEveryMs) rebuildLanes();
  if (view_.empty()) return;
  const double span = spanNs();
  const double width = std::max(1, laneWidth());
  if (follows_) {
    if (was_empty) window_.ns_per_pixel = 2e9 / width;
    // A trace shorter than the window begins at the left edge.
    window_.from_ns = std::max(-window_.ns_per_pixel * width * 0.02, span - window_.ns_per_pixel * width * 0.97);
  } else if (shows_all_ || was_empty) {
    window_ = windowOfAll();
  }
  clampWindow();
  Q_EMIT windowChanged();
  viewport()->update();
}

void TimelineView::rebuildLanes() {
  since_lanes_.start();
  lanes_ = lanesOf(view_, wishes_, kept_);
  tops_.assign(1, 0);
  for (const Lane& lane : lanes_) tops_.push_back(tops_.back() + lane.height);
  if (selected_lane_ && *selected_lane_ >= lanes_.size()) selected_lane_.reset();
  layoutScrollBars();
}

void TimelineView::wishesChanged() {
  rebuildLanes();
  viewport()->update();
}

bool TimelineView::moveLane(std::size_t lane, int by) {
  const std::size_t other = lane + static_cast<std::size_t>(by);
  if (lane >= lanes_.size() || other >= lanes_.size()) return false;
  if (lanes_[lane].kind == Lane::Kind::Group || lanes_[other].kind == Lane::Kind::Group) return false;
  std::vector<QString> order;
  for (const Lane& one : lanes_)
    if (one.kind != Lane::Kind::Group) order.push_back(one.name(view_.names()));
  const auto at = [&](std::size_t i) { return std::ranges::find(order, lanes_[i].name(view_.names())); };
  std::iter_swap(at(lane), at(other));
  // Lanes that are not shown now stay in the list, behind the others.
  for (const QString& name : wishes_.order)
    if (std::ranges::find(order, name) == order.end()) order.push_back(name);
  wishes_.order = std::move(order);
  if (selected_lane_ == lane) selected_lane_ = other;
  wishesChanged();
  return true;
}

void TimelineView::togglePinned(const Lane& lane) {
  const QString name = lane.name(view_.names());
  if (std::erase(wishes_.pinned, name) == 0) wishes_.pinned.push_back(name);
  wishesChanged();
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i].kind != Lane::Kind::Group && lanes_[i].name(view_.names()) == name) selected_lane_ = i;
}

void TimelineView::selectLane(std::size_t lane) {
  if (lane >= lanes_.size()) return;
  selected_lane_ = lane;
  const QRect rect = laneRect(lane);
  const int room = viewport()->height() - kLegend;
  if (rect.top() < kTop) verticalScrollBar()->setValue(verticalScrollBar()->value() - (kTop - rect.top()));
  if (rect.bottom() > room) verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.bottom() - room);
  setAccessibleDescription(tr("lane %1, %2 records").arg(lanes_[lane].title, lanes_[lane].note));
  viewport()->update();
}

void TimelineView::setMarks(std::vector<std::uint64_t> ns) {
  marks_ = std::move(ns);
  viewport()->update();
}

void TimelineView::layoutScrollBars() {
  const int room = std::max(0, viewport()->height() - kTop - kLegend);
  verticalScrollBar()->setPageStep(room);
  verticalScrollBar()->setSingleStep(24);
  verticalScrollBar()->setRange(0, std::max(0, tops_.back() - room));
}

double TimelineView::spanNs() const {
  return view_.empty() ? 1 : std::max(1.0, static_cast<double>(view_.last_ns() - view_.first_ns()));
}

int TimelineView::laneWidth() const { return std::max(1, viewport()->width() - kGutter); }

double TimelineView::timeAt(double x) const { return window_.from_ns + (x - kGutter) * window_.ns_per_pixel; }

std::uint64_t TimelineView::absoluteAt(double x) const {
  return record::PixelRow{.origin_ns = view_.first_ns(), .from_ns = timeAt(x)}.border(0);
}

double TimelineView::xOf(std::uint64_t ns) const {
  const record::PixelRow row{view_.first_ns(), window_.from_ns, window_.ns_per_pixel, 1};
  return kGutter + row.pixel_of(ns);
}

QRect TimelineView::laneRect(std::size_t lane) const {
  return {kGutter, kTop + tops_[lane] - verticalScrollBar()->value(), laneWidth(), lanes_[lane].height};
}

std::optional<std::size_t> TimelineView::laneAt(int y) const {
  if (y < kTop || y >= viewport()->height() - kLegend) return std::nullopt;
  const int at = y - kTop + verticalScrollBar()->value();
  const auto behind = std::ranges::upper_bound(tops_, at);
  if (behind == tops_.begin() || behind == tops_.end()) return std::nullopt;
  return static_cast<std::size_t>(behind - tops_.begin()) - 1;
}

bool TimelineView::grows() const {
  return document_.state() == TraceDocument::State::Live || document_.state() == TraceDocument::State::Loading;
}

// That of a trace that grows becomes greater in steps of 4 %: at another scale all tiles must be painted again.
double TimelineView::scaleOfAll() const {
  const double exact = spanNs() * (1 + 2 * kEdge) / laneWidth();
  return grows() ? std::exp2(std::ceil(std::log2(exact) * kStepsOfOctave) / kStepsOfOctave) : exact;
}

// The room that is still free is on the right, where records come.
double TimelineView::leftOfAll(double shown_ns) const {
  return grows() ? -shown_ns * kEdge : -(shown_ns - spanNs()) / 2;
}

TimelineView::Window TimelineView::windowOfAll() const {
  const double scale = scaleOfAll();
  return {leftOfAll(scale * laneWidth()), scale};
}

void TimelineView::clampWindow() {
  const double span = spanNs();
  const double width = laneWidth();
  const double widest = scaleOfAll() * 1.01;
  window_.ns_per_pixel = std::clamp(window_.ns_per_pixel, kLeastNsPerPixel,
                                    std::max(kLeastNsPerPixel, std::max(widest, follows_ ? window_.ns_per_pixel : 0)));
  const double shown = window_.ns_per_pixel * width;
  const double edge = shown * 0.02;
  if (shown >= span * 1.01 && !follows_)
    window_.from_ns = leftOfAll(shown);
  else if (!follows_)
    window_.from_ns = std::clamp(window_.from_ns, -edge, std::max(-edge, span + edge - shown));
  shows_all_ = !follows_ && window_.ns_per_pixel >= widest * 0.985;
}

void TimelineView::applyWindow(Window window, bool remembers) {
  if (remembers) {
    history_.resize(std::min(history_.size(), history_at_));
    if (history_.size() >= kMaxHistory) history_.erase(history_.begin());
    history_.push_back(window_);
    history_at_ = history_.size();
  }
  window_ = window;
  clampWindow();
  Q_EMIT windowChanged();
  viewport()->update();
}

void TimelineView::setWindow(double from_ns, double to_ns) {
  if (!(to_ns > from_ns)) return;
  setFollowing(false);
  applyWindow({from_ns, (to_ns - from_ns) / laneWidth()}, true);
}

void TimelineView::zoomToAll() {
  setFollowing(false);
  applyWindow(windowOfAll(), true);
}

void TimelineView::zoomToSelection() {
  if (!range_ || range_->first >= range_->second) {
    if (selected_) {
      const record::Row other = view_.match(*selected_);
      if (other == record::kNoRow) return;
      const auto [first, last] = std::minmax(view_.time_ns(*selected_), view_.time_ns(other));
      const double from = static_cast<double>(first - view_.first_ns());
      const double wide = static_cast<double>(last - first);
      setWindow(from - wide * 0.3, from + wide * 1.3 + 1);
    }
    return;
  }
  const double from = static_cast<double>(range_->first) - static_cast<double>(view_.first_ns());
  const double to = from + static_cast<double>(range_->second - range_->first);
  setWindow(from - (to - from) * 0.02, to + (to - from) * 0.02);
}

void TimelineView::zoomBy(double factor, double at_x) {
  if (view_.empty()) return;
  const double at = follows_ ? window_.from_ns + window_.ns_per_pixel * laneWidth() : timeAt(at_x);
  // Steps of a quarter octave: zooming in and out again finds tiles that are painted already.
  const double wanted = window_.ns_per_pixel / factor;
  const double scale = std::exp2(std::round(std::log2(wanted) * 4) / 4);
  const double x = follows_ ? laneWidth() : at_x - kGutter;
  Window window{at - x * scale, scale};
  applyWindow(window, false);
}

void TimelineView::panBy(double pixels) {
  setFollowing(false);
  applyWindow({window_.from_ns + pixels * window_.ns_per_pixel, window_.ns_per_pixel}, false);
}

void TimelineView::zoomBack() {
  if (history_at_ == 0) return;
  --history_at_;
  std::swap(window_, history_[history_at_]);
  applyWindow(window_, false);
}

void TimelineView::zoomForward() {
  if (history_at_ >= history_.size()) return;
  std::swap(window_, history_[history_at_]);
  ++history_at_;
  applyWindow(window_, false);
}

void TimelineView::reveal(std::uint64_t ns) {
  if (view_.empty()) return;
  const double x = xOf(ns);
  if (x > kGutter + 12 && x < viewport()->width() - 12) return;
  setFollowing(false);
  const double at = static_cast<double>(ns) - static_cast<double>(view_.first_ns());
  applyWindow({at - window_.ns_per_pixel * laneWidth() / 2, window_.ns_per_pixel}, true);
}

void TimelineView::selectRow(record::Row row) {
  if (row >= view_.rows()) return;
  selected_ = row;
  reveal(view_.time_ns(row));
  setAccessibleDescription(tr("selected: %1").arg(lineOf(row)));
  viewport()->update();
}

void TimelineView::stepInLane(int direction) {
  if (view_.empty()) return;
  const record::LaneKey lane = selected_lane_ ? lanes_[*selected_lane_].key() : record::LaneKey{.only = kept_.get()};
  const record::Row from = selected_.value_or(view_.lower_bound(absoluteAt(kGutter + laneWidth() / 2.0)));
  const auto next =
      direction > 0 ? record::next_in_lane(view_, lane, from) : record::previous_in_lane(view_, lane, from);
  if (!next) return;
  selectRow(*next);
  Q_EMIT rowSelected(*next);
}

std::pair<std::uint64_t, std::uint64_t> TimelineView::inSight() const {
  return {absoluteAt(kGutter), std::min(absoluteAt(viewport()->width()), view_.last_ns())};
}

void TimelineView::setRange(std::optional<std::pair<std::uint64_t, std::uint64_t>> range) {
  range_ = range;
  Q_EMIT rangeChanged();
  viewport()->update();
}

void TimelineView::setMarkers(std::vector<Marker> markers) {
  markers_ = std::move(markers);
  Q_EMIT markersChanged();
  viewport()->update();
}

void TimelineView::addMarker(std::uint64_t ns) {
  // A to Z, then M27 …
  const auto number = markers_.size();
  const QString name =
      number < 26 ? QString(QChar(static_cast<char16_t>(u'A' + number))) : QStringLiteral("M%1").arg(number + 1);
  markers_.push_back({ns, name, {}});
  Q_EMIT markersChanged();
  viewport()->update();
}

void TimelineView::setMarker(const QString& name, std::uint64_t ns) {
  const auto found = std::ranges::find(markers_, name, &Marker::name);
  if (found == markers_.end())
    markers_.push_back({ns, name, {}});
  else
    found->ns = ns;
  Q_EMIT markersChanged();
  viewport()->update();
}

void TimelineView::setFollowing(bool follows) {
  if (follows_ == follows || (follows && document_.state() != TraceDocument::State::Live)) return;
  follows_ = follows;
  if (follows_) setFrozen(false);
  if (follows_) takeView();
  Q_EMIT modeChanged();
}

void TimelineView::setFrozen(bool freezes) {
  if (frozen_ == freezes || (freezes && document_.state() != TraceDocument::State::Live)) return;
  frozen_ = freezes;
  if (frozen_)
    rebuildLanes();
  else
    takeView();
  Q_EMIT modeChanged();
  viewport()->update();
}

QString TimelineView::lineOf(record::Row row) const { return document_.line(view_.typed(row)); }

std::uint64_t TimelineView::newWhileFrozen() const {
  return frozen_ ? document_.view().rows() - std::min(view_.rows(), document_.view().rows()) : 0;
}

void TimelineView::settle() {
  for (int i = 0; i < 4; ++i) {
    grab();
    jobs_.waitForDone();
    mini_map_.waitForDone();
    tiles_.waitUntilIdle();
    QCoreApplication::sendPostedEvents(this, QEvent::MetaCall);
    QCoreApplication::sendPostedEvents(&tiles_, QEvent::MetaCall);
  }
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layoutScrollBars();
  if (shows_all_ && !view_.empty()) window_ = windowOfAll();
  clampWindow();
}

void TimelineView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() != QEvent::PaletteChange && event->type() != QEvent::StyleChange) return;
  const bool patterns = colors_.has_patterns;
  colors_ = LaneColors(palette());
  colors_.has_patterns = patterns;
  mini_map_.repaint();
  repaintTiles();
  viewport()->update();
}

}  // namespace kevt::gui
