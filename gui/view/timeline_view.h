// TimelineView: lanes over time, with mini-map, axis, markers and selection. TileRenderer paints tiles; paintEvent only
// copies them.
#pragma once

#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/job.h"
#include "gui/model/lanes.h"
#include "gui/model/sched_spans.h"
#include "gui/model/time_text.h"
#include "gui/view/mini_map.h"
#include "gui/view/tile_renderer.h"

class QTimer;

namespace kevt::gui {

class TraceDocument;

struct Marker {
  std::uint64_t ns = 0;
  QString name;  // "A", "B", "C" …
  QString note;
};

// Something that happened to the trace itself: a trigger fired, or the clock went back.
struct Flag {
  enum class Kind : std::uint8_t { Trigger, Clock };
  std::uint64_t ns = 0;
  Kind kind = Kind::Trigger;
  QString text;
};

class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineView(TraceDocument& document, QWidget* parent = nullptr);
  ~TimelineView() override;

  struct Window {  // behind the first record
    double from_ns = 0;
    double ns_per_pixel = 1;
  };
  const Window& window() const { return window_; }
  void setWindow(double from_ns, double to_ns);
  void zoomToAll();
  void zoomToSelection();
  void zoomBy(double factor, double at_x);
  void panBy(double pixels);
  void zoomBack();
  void zoomForward();
  // Centres the window on the time, unless the time is well inside the window.
  void reveal(std::uint64_t ns);

  const std::vector<Lane>& lanes() const { return lanes_; }
  LanePrefs& wishes() { return wishes_; }
  void wishesChanged();
  // Moves a lane within its group; -1: up, 1: down. False: the lane is first or last already.
  bool moveLane(std::size_t lane, int by);
  void togglePinned(const Lane& lane);
  std::optional<std::size_t> selectedLane() const { return selected_lane_; }
  void selectLane(std::size_t lane);
  // Times to be marked on the mini-map: hits of a search.
  void setMarks(std::vector<std::uint64_t> ns);

  std::optional<record::Row> selectedRow() const { return selected_; }
  void selectRow(record::Row row);
  void stepInLane(int direction);
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range() const { return range_; }
  std::pair<std::uint64_t, std::uint64_t> inSight() const;  // the window as absolute times
  void setRange(std::optional<std::pair<std::uint64_t, std::uint64_t>> range);

  const std::vector<Marker>& markers() const { return markers_; }
  void setMarkers(std::vector<Marker> markers);
  void addMarker(std::uint64_t ns);

  const std::vector<Flag>& flags() const { return flags_; }
  void setFlags(std::vector<Flag> flags);  // in the order of time
  // Makes or moves the marker with this name.
  void setMarker(const QString& name, std::uint64_t ns);

  // Only the kept records are shown; nullptr: all records.
  void setKept(std::shared_ptr<const record::RowSubset> kept);
  bool isFiltered() const { return kept_ != nullptr; }
  // Adds a lane of rows that a search found, in the order of time.
  void addFound(const QString& text, const std::vector<record::Row>& rows);
  const Colouring& colouring() const { return wishes_.colouring; }
  void setColouring(const Colouring& colouring);
  void setPatterns(bool patterns);
  bool hasPatterns() const { return colors_.has_patterns; }
  TimeFormat timeFormat() const { return time_format_; }
  void setTimeFormat(TimeFormat format);
  TimeOrigin origin() const;
  // KernelShark: a drag zooms, Ctrl+drag selects, a double click sets the active marker, A or B.
  enum class Mouse { Own, KernelShark };
  void setMouse(Mouse mouse) { mouse_ = mouse; }
  Mouse mouse() const { return mouse_; }
  void setActiveMarker(const QString& name) { active_marker_ = name; }
  // What the scheduler did; nullptr: the trace does not tell, or it is not known yet.
  const SchedSpans* scheduling() const { return sched_.get(); }

  // Following: the window stays at the end of a live trace. Frozen: the picture stays the same while records arrive.
  // Both need a trace that grows.
  void setFollowing(bool follows);
  bool isFollowing() const { return follows_; }
  void setFrozen(bool freezes);
  bool isFrozen() const { return frozen_; }
  std::uint64_t newWhileFrozen() const;
  // The text in place of lanes; empty: there are lanes.
  QString emptyText() const;

  // Waits until all wanted tiles are painted; for screenshots and tests.
  void settle();
  qint64 lastPaintUs() const { return last_paint_us_; }
  bool isComplete() const { return is_complete_; }
  const record::StoreView& view() const { return view_; }
  QString lineOf(record::Row row) const;  // its trace line
  // Parts of the viewport, in pixels: names on the left; mini-map and axis above, legend below.
  static constexpr int kGutter = 168, kOverview = 34, kAxis = 22, kLegend = 20, kTop = kOverview + kAxis;
  // For tests: the lane's rectangle in the viewport, and the x of a time.
  QRect laneRect(std::size_t lane) const;
  double xOf(std::uint64_t ns) const;

 Q_SIGNALS:
  void rowSelected(kevt::record::Row row);
  void rangeChanged();
  void windowChanged();
  void markersChanged();
  void modeChanged();                       // following, frozen
  void timeWanted();                        // the user wants to enter a time
  void eventDropped(const QString& event);  // "SYSTEM/NAME", from the tree of events
  void laneMenuWanted(const kevt::gui::Lane& lane, const QPoint& global);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  enum class Drag { None, Select, Pan, Overview, Zoom, Lane };

  void takeReset();
  void takeView();
  void takeState();
  void showTilesSoon();
  void rebuildLanes();
  void forgetFields();
  void layoutScrollBars();
  bool grows() const;
  double scaleOfAll() const;
  double leftOfAll(double shown_ns) const;
  Window windowOfAll() const;
  void clampWindow();
  void applyWindow(Window window, bool remembers);
  double spanNs() const;
  int laneWidth() const;
  double timeAt(double x) const;  // behind the first record
  std::uint64_t absoluteAt(double x) const;
  std::optional<std::size_t> laneAt(int y) const;
  std::uint64_t snapped(double x, int y, bool snaps) const;
  std::optional<record::Row> rowAt(QPointF at) const;
  QString tipAt(QPointF at) const;
  void toggleGroup(const Lane& group);
  void finishDrag(QMouseEvent* event);

  void paintLanes(QPainter& painter);
  void paintLane(QPainter& painter, const Lane& lane, const QRect& rect);
  bool paintTile(QPainter& painter, const Lane& lane, const QRect& rect, qint64 index, double ns_per_pixel);
  void paintStretched(QPainter& painter, const Lane& lane, const QRect& rect, qint64 index);
  void paintLabels(QPainter& painter, const Lane& lane, const QRect& rect, const Tile& tile);
  void paintLost(QPainter& painter, const Lane& lane, const QRect& rect);
  void paintGutter(QPainter& painter, const Lane& lane, const QRect& rect);
  void paintAxis(QPainter& painter);
  void paintOverview(QPainter& painter);
  void paintOverlays(QPainter& painter);
  void paintMarker(QPainter& painter, const Marker& marker);
  void paintFlags(QPainter& painter);
  void paintLegend(QPainter& painter);
  int paintSchedLegend(QPainter& painter, int x, const QRect& rect);
  void paintEmpty(QPainter& painter);
  void request();
  std::shared_ptr<const record::FieldPyramid> fieldOf(const Lane& lane);
  void learnScheduling();
  void repaintTiles();  // the look has changed
  // What the lane's task does at that time, for a tool tip.
  QString schedulingAt(const Lane& lane, std::uint64_t ns) const;
  QString scheduledAt(const Lane& lane, std::uint64_t ns) const;
  QString busyAt(const Lane& lane, std::uint64_t ns) const;
  int paintBusyLegend(QPainter& painter, int x, const QRect& rect);

  TraceDocument& document_;
  record::StoreView view_;
  std::shared_ptr<const record::RowSubset> kept_;
  LanePrefs wishes_;
  std::vector<Lane> lanes_;
  std::vector<int> tops_;  // y of each lane, and the end of the last one
  Window window_;
  std::vector<Window> history_;
  std::size_t history_at_ = 0;
  bool shows_all_ = true;  // shows the whole trace, also while more is loaded
  bool follows_ = false, frozen_ = false;
  std::optional<record::Row> selected_;
  std::optional<std::size_t> selected_lane_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range_;
  std::vector<Marker> markers_;
  std::vector<std::uint64_t> marks_;
  std::vector<Flag> flags_;
  Drag drag_ = Drag::None;
  QPointF pressed_, last_;
  bool moved_ = false;
  QElapsedTimer since_lanes_;

  LaneColors colors_;
  TileRenderer tiles_;
  MiniMap mini_map_;
  QTimer* next_frame_;     // until tiles that came are shown
  QElapsedTimer painted_;  // since the last frame
  std::vector<TileRenderer::Wish> wanted_;
  double complete_scale_ = 0;  // the last scale at which no tile was missing
  bool is_complete_ = false;
  std::map<QString, std::shared_ptr<const record::FieldPyramid>> fields_;
  std::map<QString, Cancelled> loading_fields_;
  std::shared_ptr<const SchedSpans> sched_;
  Cancelled loading_sched_;
  record::Row sched_rows_ = 0;  // rows of the trace when spans were asked for
  std::uint32_t found_lanes_ = 0;
  TimeFormat time_format_ = TimeFormat::Trace;
  Mouse mouse_ = Mouse::Own;
  QString active_marker_ = QStringLiteral("A");
  qint64 last_paint_us_ = 0;
  JobQueue jobs_;
};

}  // namespace kevt::gui
