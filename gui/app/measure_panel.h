// MeasurePanel: what lies in the selected range, or in the whole trace: counts, rates, numeric fields, tasks, markers.
#pragma once

#include <QWidget>

#include "gui/model/job.h"

class QTreeWidget;
class QLabel;
class QTimer;

namespace kevt::gui {

class TimelineView;
class TraceDocument;

class MeasurePanel : public QWidget {
  Q_OBJECT

 public:
  MeasurePanel(TraceDocument& document, TimelineView& timeline, QWidget* parent = nullptr);
  ~MeasurePanel() override;
  QTreeWidget& table() { return *table_; }
  bool isBusy() const;

 private:
  struct Result;
  void start();
  void show(const Result& result);
  void showMarkers();

  TraceDocument& document_;
  TimelineView& timeline_;
  QLabel* head_;
  QTreeWidget* table_;
  QTreeWidget* markers_;
  QTimer* delay_;
  Cancelled busy_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
