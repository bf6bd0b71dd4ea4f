// ProbesPanel: the editor, and Apply with a preview of its difference. For a recording, the definitions that made it
// are shown.
#pragma once

#include <QStringList>
#include <QUndoCommand>
#include <QUndoStack>
#include <QWidget>
#include <set>
#include <vector>

#include "gui/app/event_pages.h"
#include "gui/model/apply_plan.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QTabWidget;

namespace kevt::gui {

class DefinitionEditor;
class EventTree;
class TracingService;
struct FileWrite;
struct LiveState;

class ProbesPanel : public QWidget {
  Q_OBJECT

 public:
  ProbesPanel(TracingService& service, CompilerService& compiler, EventTree& events, QWidget* parent = nullptr);

  DefinitionEditor& editor() { return *editor_; }
  QUndoStack& undoStack() { return undo_; }
  std::set<QString>& owned() { return owned_; }
  const std::vector<PlanStep>& plan() const { return plan_; }
  QString differenceText() const;
  QString verdictText() const;
  // The user's text, also while a recording's definitions are shown in its place.
  QString ownText() const;
  void setOwnText(const QString& text);
  // A recording was opened, with these definitions (empty: unknown). They are shown unless the user has written
  // something, and cannot be edited.
  void showRecording(const QStringList& definitions);
  void endRecording();  // the recording is no longer open
  QPushButton& recordedButton() { return *recorded_; }
  bool canApply() const;
  // Writes the difference, as an undo step.
  void apply();
  void takeState(const LiveState& state);
  void setTarget(const WrittenTarget& target);
  ExportAsPage& exportAsPage() { return *same_; }
  // Whether names that only types resolve are replaced before definitions are written: a kernel's directory may not
  // know such names.
  void setWritesOut(bool writes) { writes_out_ = writes; }

 Q_SIGNALS:
  void mistakesChanged();
  void applied(bool wasTaken);

 private:
  friend class ApplyCommand;
  void showPlan();
  void showVerdict();
  void showSameAs();
  void showRecorded(bool recorded);
  std::vector<FileWrite> writesOf(const std::vector<PlanStep>& plan) const;
  void carryOut(const std::vector<PlanStep>& plan);

  TracingService& service_;
  EventTree& events_;
  DefinitionEditor* editor_;
  QLabel* verdict_;
  QPushButton* apply_;
  QPushButton* fix_;
  QPushButton* recorded_;    // on: the recording's definitions are in the editor
  QStringList definitions_;  // of the recording
  QString own_;              // the user's text while the recording's is shown
  bool is_recording_ = false;
  QTabWidget* tabs_;
  QPlainTextEdit* difference_;
  ExportAsPage* same_;
  WrittenTarget target_;
  bool writes_out_ = false;
  QString present_;
  bool has_state_ = false;
  int writes_ = 0;           // not answered yet
  bool is_writing_ = false;  // until the state was read after a write
  std::set<QString> owned_;
  std::vector<PlanStep> plan_;
  QUndoStack undo_;
};

}  // namespace kevt::gui
