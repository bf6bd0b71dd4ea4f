// MeasurePanel: measures the selected range, or the whole trace: counts, rates, numeric fields, tasks, markers.
#pragma once

#include <QWidget>

#include "gui/app/range_watch.h"
#include "gui/model/job.h"
#include "tracefs-compat/record/store/row_subset.h"

class QTreeWidget;
class QTreeWidgetItem;
class QLabel;

namespace kevt::gui {

class TimelineView;
class TraceDocument;

class MeasurePanel : public QWidget {
  Q_OBJECT

 public:
  MeasurePanel(TraceDocument& document, TimelineView& timeline, QWidget* parent = nullptr);
  ~MeasurePanel() override;
  QTreeWidget& table() { return *table_; }
  QTreeWidget& markers() { return *markers_; }
  bool isBusy() const;
  // The kept records are measured; nullptr: all records.
  void setKept(std::shared_ptr<const record::RowSubset> kept);
  QString head() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Result;
  void start();
  void show(const Result& result);
  void showMarkers();
  void takeMarkerEdit(QTreeWidgetItem* item, int column);

  TraceDocument& document_;
  TimelineView& timeline_;
  QLabel* head_;
  QTreeWidget* table_;
  QTreeWidget* markers_;
  RangeWatch* watch_;
  Cancelled busy_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
