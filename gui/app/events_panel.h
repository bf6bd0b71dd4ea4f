// EventsPanel: the tree of events, and pages of the selected one: format, filter, triggers, code, commands for a
// terminal.
#pragma once

#include <QWidget>

#include "gui/app/event_pages.h"

class QLineEdit;
class QPlainTextEdit;
class QSortFilterProxyModel;
class QTabWidget;
class QTreeView;
class QUndoStack;

namespace kevt::gui {

class EventTree;
class TraceDocument;
class TracingService;
struct FileWrite;
struct LiveState;

class EventsPanel : public QWidget {
  Q_OBJECT

 public:
  struct Parts {
    TracingService& service;
    CompilerService& compiler;
    EventTree& events;
    TraceDocument& document;
    QUndoStack& undo;  // has all writes
  };
  explicit EventsPanel(const Parts& parts, QWidget* parent = nullptr);
  enum Tab { Format, Filter, Trigger, Code, ExportAs };
  QTreeView& view() { return *view_; }
  QTabWidget& tabs() { return *tabs_; }
  const ShownEvent& shown() const { return event_; }
  QLineEdit& filterEdit() { return filter_->edit(); }
  TriggerPage& triggerPage() { return *trigger_; }
  CodePage& codePage() { return *code_; }
  ExportAsPage& exportAsPage() { return *same_; }
  QString filterVerdict() const;
  QString formatText() const;
  void select(const QString& system, const QString& name);
  void takeState(const LiveState& state);
  void takeRecording();  // shows the document's events, if nothing is live
  void setTarget(const WrittenTarget& target);
  // Writes a trigger of the selected event; undo takes it back.
  void writeTrigger(const QString& trigger);
  // Selects the event, and puts the filter into its line, to be written or changed.
  void proposeFilter(const QString& system, const QString& name, const QString& filter);

 Q_SIGNALS:
  void eventShown(const kevt::gui::ShownEvent& event);          // another one, or more is known of it
  void plotWanted(const QString& system, const QString& name);  // asks for a lane of its first numeric field

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeTree();
  void widenNames();
  void makeTabs(QWidget* parent);
  void showEvent();  // another event was selected
  void refresh();    // the same event
  void takeFormat(const QString& text);
  void enable(const QString& system, const QString& name, bool on);
  void writeFilter(const QString& filter);
  QString folder() const;

  Parts parts_;
  QSortFilterProxyModel* sorted_;
  QTreeView* view_;
  QTabWidget* tabs_;
  QPlainTextEdit* format_;
  FilterPage* filter_;
  TriggerPage* trigger_;
  CodePage* code_;
  ExportAsPage* same_;
  ShownEvent event_;
  WrittenTarget target_;
};

}  // namespace kevt::gui
