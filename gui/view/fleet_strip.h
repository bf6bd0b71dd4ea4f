// FleetStrip: when a fleet's database has how many records, and which part of them the window shows.
//
//   ▁▁▂▅██▇▃▁▁▂▃▅▂▁▁[▇█▅▂▁]▁    bars: all events, stacked; the part that is shown
//   27 Nov 12:00:00     2,000,000 of 100,000,000 records are shown            28 Nov 14:00:00
//
// Dragging chooses another part; the wheel zooms, with Shift it moves.
#pragma once

#include <QHash>
#include <QWidget>
#include <optional>

#include "gui/model/fleet_source.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class FleetStrip : public QWidget {
  Q_OBJECT

 public:
  explicit FleetStrip(FleetSource& source, QWidget* parent = nullptr);

  const fleet::TimeSpan& sight() const { return sight_; }
  // What the rest of the window shows (nullopt: everything), whose colours the strip's events have, too.
  void setShown(const std::optional<fleet::TimeSpan>& part, const record::StoreView& view);
  // No part of more records is asked for.
  void setMostRecords(std::uint64_t most) { most_ = most; }

  void zoom(double factor, double x);  // x: of the moment that stays where it is
  void move(double pixels);
  void showAll();
  QString textBelow() const;
  double xOf(std::int64_t ns) const;
  QSize sizeHint() const override { return {600, 76}; }
  QSize minimumSizeHint() const override { return {200, 76}; }

 Q_SIGNALS:
  void partWanted(const kevt::fleet::TimeSpan& part);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void takePicture();
  void look(fleet::TimeSpan sight);
  void choose(const fleet::TimeSpan& part);
  std::int64_t timeAt(double x) const;
  std::uint64_t recordsIn(const fleet::TimeSpan& part) const;
  QString tipAt(double x) const;
  QRect bars() const;
  void paintBars(QPainter& painter, const QRect& room) const;

  FleetSource& source_;
  fleet::TimeSpan sight_;
  std::optional<fleet::TimeSpan> shown_;
  std::uint64_t shown_records_ = 0, most_ = ~0ull;
  QHash<QString, std::uint32_t> number_of_;  // of the trace's events, by "SYSTEM/NAME"
  std::optional<double> pressed_;
  double dragged_to_ = 0;
  QString refusal_;
};

}  // namespace kevt::gui
