// The pages of the selected event: its filter, its triggers, its code, and the same as commands for a terminal.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "gui/model/compiler_service.h"
#include "gui/model/export_as.h"
#include "gui/model/live_state.h"
#include "tracefs-compat/record/event_format.h"

class QComboBox;
class QCompleter;
class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QStringListModel;
class QTimer;

namespace kevt::gui {

class TraceDocument;

// The event that a page shows. `format` is nullptr until it was read.
struct ShownEvent {
  QString system, name;
  QString definition;  // the line of dynamic_events; empty: a static event
  QString filter;
  QStringList triggers;
  bool is_on = false;
  std::shared_ptr<const record::EventFormat> format;
  bool isSame(const ShownEvent& other) const { return system == other.system && name == other.name; }
};

// A line for a filter, with completion of fields; shows mistakes while one types, and how many loaded records the
// filter would keep.
class FilterPage : public QWidget {
  Q_OBJECT

 public:
  explicit FilterPage(TraceDocument& document, QWidget* parent = nullptr);
  QLineEdit& edit() { return *edit_; }
  QString verdict() const;
  void setVerdict(const QString& text);
  void show(const ShownEvent& event);  // replaces the line only for another event: somebody may be typing

 Q_SIGNALS:
  void writeWanted(const QString& filter);

 private:
  void judge();
  TraceDocument& document_;
  ShownEvent event_;
  QLineEdit* edit_;
  QLabel* verdict_;
  QCompleter* completer_;
  QStringListModel* words_;
  QTimer* recount_;
  Cancelled counting_;
  JobQueue jobs_;
};

// The event's triggers, each of which can be removed, and a line for a new one with choices that fill the line.
class TriggerPage : public QWidget {
  Q_OBJECT

 public:
  explicit TriggerPage(QWidget* parent = nullptr);
  QLineEdit& edit() { return *edit_; }
  QComboBox& kind() { return *kind_; }
  QListWidget& present() { return *present_; }
  QString verdict() const;
  void setVerdict(const QString& text);
  void show(const ShownEvent& event);

 Q_SIGNALS:
  void writeWanted(const QString& trigger);

 private:
  void compose();    // choices to text
  void decompose();  // text to choices
  void judge();
  ShownEvent event_;
  QListWidget* present_;
  QComboBox* kind_;
  QLineEdit *target_, *keys_, *values_, *count_, *filter_;
  QLineEdit* edit_;
  QLabel* verdict_;
  bool is_mine_ = false;  // the page itself changes the line now
};

// Makes a text widget: fixed width, no wrapping, read only.
QPlainTextEdit* readOnlyText(const QString& name, QWidget* parent);

// Fetch IR and machine code, made when the page is shown.
class CodePage : public QWidget {
  Q_OBJECT

 public:
  explicit CodePage(CompilerService& compiler, QWidget* parent = nullptr);
  QString text() const;
  void show(const ShownEvent& event);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void ask();
  CompilerService& compiler_;
  ShownEvent event_;
  QString shown_;  // definition and filter of the shown code
  QPlainTextEdit* text_;
};

// The event in several forms, each with a button that copies the text.
class ExportAsPage : public QWidget {
  Q_OBJECT

 public:
  explicit ExportAsPage(QWidget* parent = nullptr);
  QString text(int form) const;  // 0 shell script, 1 command, 2 event script, 3 perf, 4 bpftrace
  void show(const std::vector<WrittenEvent>& events, const WrittenTarget& target);

 private:
  QPlainTextEdit* texts_[5];
};

}  // namespace kevt::gui
