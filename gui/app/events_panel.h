// EventsPanel: the tree of events, and of the selected one its format, filter and trigger.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSortFilterProxyModel;
class QTreeView;

namespace kevt::gui {

class EventTree;
class TraceDocument;
class TracingService;
struct LiveState;

class EventsPanel : public QWidget {
  Q_OBJECT

 public:
  EventsPanel(TracingService& service, EventTree& events, TraceDocument& document, QWidget* parent = nullptr);
  QTreeView& view() { return *view_; }
  QLineEdit& filterEdit() { return *filter_; }
  QLineEdit& triggerEdit() { return *trigger_; }
  QString filterVerdict() const;
  QString formatText() const;
  void select(const QString& system, const QString& name);
  void takeState(const LiveState& state);

 private:
  void showEvent();
  void judgeFilter();
  void writeFilter();
  void writeTrigger();

  TracingService& service_;
  EventTree& events_;
  TraceDocument& document_;
  QSortFilterProxyModel* sorted_;
  QTreeView* view_;
  QPlainTextEdit* format_;
  QLineEdit* filter_;
  QLabel* filter_verdict_;
  QLineEdit* trigger_;
  QLabel* triggers_;
  QLabel* trigger_verdict_;
  QString system_, name_;
};

}  // namespace kevt::gui
