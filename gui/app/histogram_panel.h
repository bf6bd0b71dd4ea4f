// HistogramPanel: what an event's `hist` triggers count, live or as a recording has kept it: bars, a heat map over
// time, the table; a line for another one.
#pragma once

#include <QElapsedTimer>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "gui/app/event_pages.h"
#include "gui/model/histogram_track.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QTimer;
class QToolButton;
class QTreeView;

namespace kevt::gui {

class HistogramRows;
class HistogramView;
class TraceDocument;
class TracingService;

class HistogramPanel : public QWidget {
  Q_OBJECT

 public:
  HistogramPanel(TracingService& service, TraceDocument& document, QWidget* parent = nullptr);

  // The event that is selected in the tree; a live directory's histograms are its own.
  void setEvent(const ShownEvent& event);
  HistogramView& picture() { return *picture_; }
  QTreeView& table() { return *table_; }
  QLineEdit& keys() { return *keys_; }
  QLineEdit& values() { return *values_; }
  QLineEdit& condition() { return *condition_; }
  // Which of several histograms, and which entries of it.
  QComboBox& histogram() { return *which_; }
  QComboBox& group() { return *group_; }
  QString head() const;
  // The one that is shown; nullptr: none.
  std::shared_ptr<const HistogramTrack> track() const;
  // The filter of the chosen line; empty: none is chosen, or it has none.
  QString lineFilter() const;

 Q_SIGNALS:
  void triggerWanted(const QString& trigger);  // of the event that is selected
  void latencyWanted();                        // from the event that is selected to another one
  void shownWanted(const QString& filter);     // "EVENT: EXPRESSION"
  void recordedWanted(const QString& system, const QString& name, const QString& expression);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void makeBar(QWidget* bar);
  void makeLine(QWidget* line);
  // The histograms of another source are shown.
  void startOver();
  bool isOfRecording() const;
  void takeRecording();
  void ask();  // reads the live event's file
  void take(double at_s, const std::string& text);
  std::vector<std::shared_ptr<HistogramTrack>> goingOn(const std::vector<record::HistFileTable>& tables);
  void fillWhich();
  void fillGroups();
  const record::EventFormat* formatOf(const HistogramTrack& track) const;
  void showTrack();
  void showPicture();
  void writeCount();
  void writeCommand(const QString& command);
  void wantShown();

  TracingService& service_;
  TraceDocument& document_;
  ShownEvent event_;
  std::vector<std::shared_ptr<HistogramTrack>> tracks_;
  QComboBox *which_, *group_;
  QStringList groups_;  // in group_, behind "all"
  QLineEdit *keys_, *values_, *condition_;
  QLabel* head_;
  QToolButton *clear_, *pause_, *remove_, *shown_, *recorded_;
  QPushButton* count_;
  QWidget* line_;
  QScrollArea* scroll_;
  HistogramView* picture_;
  HistogramRows* rows_;
  QTreeView* table_;
  QTimer* timer_;
  QElapsedTimer since_;  // since the first reading of the event's file
  bool is_asking_ = false;
};

}  // namespace kevt::gui
