// MainWindow: timeline over table, docks around them, the state of the recording always in sight.
#pragma once

#include <QMainWindow>
#include <memory>

#include "tracefs-compat/record/store_chunk.h"

class QLabel;
class QToolButton;

namespace kevt::gui {

class EventRows;
class EventTable;
class FilterBar;
class MeasurePanel;
class TimelineView;
class TraceDocument;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  TraceDocument& document() { return *document_; }
  TimelineView& timeline() { return *timeline_; }
  EventTable& table() { return *table_; }
  FilterBar& filterBar() { return *filter_; }
  MeasurePanel& measure() { return *measure_; }

  void openTrace(const QString& path);
  // Waits until everything is loaded and painted; for screenshots and tests.
  void settle();

 private:
  void makeCentre();
  void makeDocks();
  void makeActions();
  void makeStateBar();
  QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, const std::function<void()>& run);
  void showState();
  void laneMenu(const struct Lane& lane, const QPoint& global);
  void cellMenu(const QModelIndex& index, const QPoint& global);
  void exportSelection();
  void addFilterTerm(const QString& term);

  std::unique_ptr<TraceDocument> document_;
  EventRows* rows_ = nullptr;
  TimelineView* timeline_ = nullptr;
  EventTable* table_ = nullptr;
  FilterBar* filter_ = nullptr;
  MeasurePanel* measure_ = nullptr;
  QLabel* state_ = nullptr;
  QLabel* rate_ = nullptr;
  QToolButton* lost_ = nullptr;
};

}  // namespace kevt::gui
