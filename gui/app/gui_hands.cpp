// kevt_gui_hands: drives the real window without a screen, by commands on standard input (tests/doors).
//
// A command is a line: a word and its arguments, separated by tabs. The answer is a line: `ok`; `ok N` with N lines
// after it; or `no WHY`.
//
//   start COMMAND ARGUMENT…   a program is started and traced
//   beside RUNTIME            the kernel is traced beside the next target
//   follow                    from now on programs that a target starts are traced, too
//   script FILE [unsafe]      for the next target: a script to apply before it runs (--script, --unsafe)
//   attach PID…               processes that run
//   attach-to comm|cgroup|container NAME   processes by what they are, also those that come later
//   kernel RUNTIME            the kernel, by bpf or kmod
//   define DEFINITION…        lines are typed into the editor, and applied
//   filter EVENT TEXT         of an event, in its page
//   trigger EVENT TEXT        likewise
//   count EVENT KEYS VALUES CONDITION   the page Histogram: its line is filled and written
//   counted N                 until the histogram has N hits; its table, cells with tabs between
//   switch EVENT 0|1          the event's switch
//   file PATH TEXT            the page Directory: a line for the file
//   show PATH                 the page Directory: what the file reads
//   press ACTION              an action, by its text
//   wait N                    until the table has N records
//   lines                     the table's trace lines
//   problems                  the page Problems, in one line
//   most N                    of the database that is opened next, so many records are loaded at most
//   strip                     when the part is loaded: the words below it, milliseconds of the last answer, and a line
//                             for each event and its records
//   wheel PART STEPS          over the strip, at this part of its width
//   choose PART PART          the mouse is dragged over the strip from one part of its width to another
//   rest                      the window goes on for a moment
//   compare FILE PAGE         the open recording with an earlier one, as a page
//   save FILE                 the trace, in the format that the file's ending names
//   measure                   the page Measure: events and fields, a line each, its columns with tabs between
#include <QApplication>
#include <QDockWidget>
#include <QLineEdit>
#include <QTest>
#include <QTreeView>
#include <QTreeWidget>
#include <QWheelEvent>
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "common/process_choice.h"
#include "gui/app/compare_dialog.h"
#include "gui/app/events_panel.h"
#include "gui/app/histogram_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/tree_panel.h"
#include "gui/model/apply_plan.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/fleet_source.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/fleet_strip.h"
#include "gui/view/theme.h"

namespace kevt::gui {
namespace {

class Hands {
 public:
  Hands() : patience_ms_(qEnvironmentVariableIsEmpty("KEV_GUEST") ? 30'000 : 120'000) {
    window_.resize(1500, 940);
    window_.show();
  }
  // The answer.
  QStringList obey(const QStringList& words);

 private:
  template <class Condition>
  bool wait(Condition condition) {
    return QTest::qWaitFor(condition, patience_ms_);
  }
  // The page that the widget is in comes to the front.
  static void raise(QWidget& page) {
    for (QWidget* one = &page; one; one = one->parentWidget())
      if (auto* dock = qobject_cast<QDockWidget*>(one)) dock->show(), dock->raise();
  }
  static QStringList no(const QString& why) { return {QStringLiteral("no ") + QString(why).replace('\n', ' ')}; }
  static QStringList ok(QStringList lines = {}) {
    lines.prepend(lines.isEmpty() ? QStringLiteral("ok") : QStringLiteral("ok %1").arg(lines.size()));
    return lines;
  }
  QStringList afterStart();
  QStringList define(const QStringList& lines);
  QStringList writePage(const QStringList& words, EventsPanel::Tab tab, QLineEdit& edit);
  QStringList writeCount(const QStringList& words);
  QStringList counted(std::uint64_t hits);
  QStringList writeFile(const QString& path, const QString& text);
  QStringList answerOfWrite(int before);
  QStringList lines();
  QStringList measured();
  QStringList strip();
  QString problems();
  const LiveEvent* event(const QString& name);

  int patience_ms_;
  MainWindow window_;
};

QString Hands::problems() {
  QStringList all;
  for (int i = 0; i < window_.problems().topLevelItemCount(); ++i)
    all.append(window_.problems().topLevelItem(i)->text(1));
  return all.join(QStringLiteral("; "));
}

const LiveEvent* Hands::event(const QString& name) {
  for (const char* system : {"kprobes", "uprobes", "synthetic", "sched"})
    if (const auto* found = window_.eventTree().eventAt(window_.eventTree().find(QLatin1String(system), name)))
      return found;
  return nullptr;
}

QStringList Hands::afterStart() {
  wait([&] { return window_.service().isRunning() || !window_.target().isRunning(); });
  if (!window_.service().isRunning()) return no(problems());
  return ok();
}

QStringList Hands::define(const QStringList& lines) {
  DefinitionEditor& editor = window_.probes().editor();
  for (const QString& line : lines) {
    QTest::keyClick(&editor, Qt::Key_End, Qt::ControlModifier);
    if (!editor.toPlainText().isEmpty()) QTest::keyClick(&editor, Qt::Key_Return);
    QTest::keyClicks(&editor, line);
    QTest::keyClick(&editor, Qt::Key_Escape);  // closes the completions
  }
  // What the target has may be known a moment later; the lines are checked again then.
  wait([&] { return editor.isChecked() && editor.checked().mistakes.empty(); });
  if (!editor.checked().mistakes.empty()) return no(editor.checked().mistakes[0].text);
  if (!wait([&] { return window_.probes().canApply(); })) return no("it cannot be applied: " + problems());
  const int before = window_.files().topLevelItemCount();
  for (QAction* action : window_.actions())
    if (action->shortcut() == QKeySequence(QStringLiteral("Ctrl+Return"))) action->trigger();
  const QStringList answer = answerOfWrite(before);
  const auto is_kept = [](const PlanStep& step) { return step.kind == PlanStep::Kind::Keep; };
  if (!wait([&] {
        return std::ranges::count_if(window_.probes().plan(), is_kept) == editor.toPlainText().count('\n') + 1;
      }))
    return no("not all of it is there: " + window_.probes().differenceText());
  return answer;
}

// Every write of the window has a line in "Files written".
QStringList Hands::answerOfWrite(int before) {
  if (!wait([&] { return window_.files().topLevelItemCount() > before; })) return no("nothing was written");
  for (int i = before; i < window_.files().topLevelItemCount(); ++i)
    if (const QString answer = window_.files().topLevelItem(i)->text(2); answer.startsWith(QStringLiteral("⚠ ")))
      return no(answer.mid(2));
  return ok();
}

QStringList Hands::writePage(const QStringList& words, EventsPanel::Tab tab, QLineEdit& edit) {
  if (!wait([&] { return event(words[1]) != nullptr; })) return no("the tree of events has no " + words[1]);
  window_.events().select(event(words[1])->system, words[1]);
  window_.events().tabs().setCurrentIndex(tab);
  edit.setText(words[2]);
  const int before = window_.files().topLevelItemCount();
  QTest::keyClick(&edit, Qt::Key_Return);
  return answerOfWrite(before);
}

QStringList Hands::writeCount(const QStringList& words) {
  if (!wait([&] { return event(words[1]) != nullptr; })) return no("the tree of events has no " + words[1]);
  window_.events().select(event(words[1])->system, words[1]);
  raise(window_.histograms());
  HistogramPanel& panel = window_.histograms();
  panel.keys().setText(words[2]);
  panel.values().setText(words[3]);
  panel.condition().setText(words[4]);
  const int before = window_.files().topLevelItemCount();
  QTest::keyClick(&panel.keys(), Qt::Key_Return);
  return answerOfWrite(before);
}

QStringList Hands::counted(std::uint64_t hits) {
  HistogramPanel& panel = window_.histograms();
  if (!wait([&] { return panel.track() && panel.track()->hits() >= hits; })) return no("it shows: " + panel.head());
  QStringList all;
  const QAbstractItemModel& table = *panel.table().model();
  for (int row = 0; row < table.rowCount(); ++row) {
    QStringList cells;
    for (int column = 0; column < table.columnCount(); ++column)
      cells.append(table.index(row, column).data().toString().replace(QChar(0x202f), QLatin1Char(' ')));
    all.append(cells.join(QLatin1Char('\t')));
  }
  return ok(all);
}

QStringList Hands::writeFile(const QString& path, const QString& text) {
  window_.directoryFiles().showFile(path);
  QLineEdit* line = nullptr;
  for (QLineEdit* one : window_.directoryFiles().findChildren<QLineEdit*>())
    if (one->accessibleName() == QLatin1String("Line to write to the file")) line = one;
  if (!line) return no("there is no line to write");
  line->setText(text);
  const int before = window_.files().topLevelItemCount();
  QTest::keyClick(line, Qt::Key_Return);
  return answerOfWrite(before);
}

QStringList Hands::lines() {
  const EventRows& rows = window_.table().rows();
  QStringList all;
  for (int row = 0; row < rows.rowCount(); ++row)
    all += rows.data(rows.index(row, 0), Qt::ToolTipRole).toString().split(QLatin1Char('\n'));
  return all;
}

QStringList Hands::measured() {
  raise(window_.measure());
  wait([&] {
    const MeasurePanel& page = window_.measure();  // which is up to date from when it is seen
    return !page.visibleRegion().isEmpty() && !page.isBusy() && window_.measure().table().topLevelItemCount() > 0;
  });
  QStringList all;
  const auto add = [&](const auto& self, const QTreeWidgetItem* item, int depth) -> void {
    QStringList cells;
    for (int column = 0; column < item->columnCount(); ++column) cells.append(item->text(column));
    all.append(QString(depth, QLatin1Char(' ')) + cells.join(QLatin1Char('\t')));
    for (int i = 0; i < item->childCount(); ++i) self(self, item->child(i), depth + 1);
  };
  for (int i = 0; i < window_.measure().table().topLevelItemCount(); ++i)
    add(add, window_.measure().table().topLevelItem(i), 0);
  return all;
}

QStringList Hands::strip() {
  const FleetSource& source = window_.fleet();
  if (!window_.fleetStrip().isVisible()) return no("there is no strip");
  if (!wait([&] { return !source.isBusy() && window_.document().state() != TraceDocument::State::Loading; }))
    return no("the server does not answer");
  QStringList all = {window_.fleetStrip().textBelow().replace(QChar(0x202f), QLatin1Char(' ')),
                     QString::number(source.lastAnswerMs())};
  for (const fleet::OverviewLine& line : source.picture().lines) {
    std::uint64_t sum = 0;
    for (const std::uint64_t hits : line.hits) sum += hits;
    all.append(QStringLiteral("%1\t%2").arg(QString::fromStdString(line.name)).arg(sum));
  }
  return ok(all);
}

QStringList Hands::obey(const QStringList& words) {
  const QString& what = words[0];
  const QStringList rest = words.mid(1);
  if (what == "open") return window_.openTrace(rest.value(0)), ok();
  if (what == "start") return window_.startTarget(rest), afterStart();
  if (what == "beside") return window_.target().setWithKernel(rest.value(0)), ok();
  if (what == "follow") return window_.target().setFollowing(true), ok();
  if (what == "script") return window_.target().setScript(rest.value(0), rest.value(1) == "unsafe"), ok();
  if (what == "kernel") return window_.traceKernel(rest.value(0)), afterStart();
  if (what == "attach") {
    QList<int> pids;
    for (const QString& pid : rest) pids.append(pid.toInt());
    return window_.attachTo(pids), afterStart();
  }
  if (what == "attach-to") {
    proc::ProcessChoice choice;
    (rest.value(0) == "comm"     ? choice.comms
     : rest.value(0) == "cgroup" ? choice.cgroups
                                 : choice.containers)
        .push_back(rest.value(1).toStdString());
    return window_.attachTo(choice), afterStart();
  }
  if (what == "define") return define(rest);
  if (what == "filter" && words.size() == 3)
    return writePage(words, EventsPanel::Filter, window_.events().filterEdit());
  if (what == "trigger" && words.size() == 3)
    return writePage(words, EventsPanel::Trigger, window_.events().triggerPage().edit());
  if (what == "count" && words.size() == 5) return writeCount(words);
  if (what == "counted") return counted(rest.value(0).toULongLong());
  if (what == "switch" && words.size() == 3) {
    const int before = window_.files().topLevelItemCount();
    if (!wait([&] { return event(words[1]) != nullptr; })) return no("the tree of events has no " + words[1]);
    EventTree& tree = window_.eventTree();
    tree.setData(tree.find(event(words[1])->system, words[1]), words[2] == "1" ? Qt::Checked : Qt::Unchecked,
                 Qt::CheckStateRole);
    return answerOfWrite(before);
  }
  if (what == "file" && words.size() == 3) return writeFile(words[1], words[2]);
  if (what == "show") {
    window_.directoryFiles().showFile(rest.value(0));
    QTest::qWait(300);
    return ok(window_.directoryFiles().text().split(QLatin1Char('\n')));
  }
  if (what == "press") {
    for (QAction* action : window_.findChildren<QAction*>())
      if (action->text() == rest.value(0) && action->isEnabled()) return action->trigger(), ok();
    return no("no action that may be pressed is `" + rest.value(0) + "`");
  }
  if (what == "wait") {
    const int least = rest.value(0).toInt();
    if (wait([&] { return window_.table().rows().rowCount() >= least; })) return ok();
    return no(QStringLiteral("%1 records; %2").arg(window_.table().rows().rowCount()).arg(problems()));
  }
  if (what == "most") return window_.document().setMostRecords(rest.value(0).toULongLong()), ok();
  if (what == "strip") return strip();
  if (what == "wheel" && words.size() == 3) {
    const QPointF at(rest[0].toDouble() * window_.fleetStrip().width(), 20);
    QWheelEvent event(at, window_.fleetStrip().mapToGlobal(at), {}, {0, rest[1].toInt() * 120}, Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    return QApplication::sendEvent(&window_.fleetStrip(), &event), strip();
  }
  if (what == "choose" && words.size() == 3) {
    const auto at = [&](int i) {
      return QPoint(static_cast<int>(rest[i].toDouble() * window_.fleetStrip().width()), 20);
    };
    QTest::mousePress(&window_.fleetStrip(), Qt::LeftButton, {}, at(0));
    QTest::mouseMove(&window_.fleetStrip(), at(1));
    QTest::mouseRelease(&window_.fleetStrip(), Qt::LeftButton, {}, at(1));
    return wait([&] { return window_.document().state() != TraceDocument::State::Loading; }) ? strip() : no("it loads");
  }
  if (what == "rest") return QTest::qWait(50), ok();
  if (what == "lines") return ok(lines());
  if (what == "problems") return ok({problems()});
  if (what == "measure") return ok(measured());
  if (what == "compare" && words.size() >= 3) {
    std::optional<Result<std::string>> done;
    window_.compare({.before = words[1], .before_range = {}, .range = {}, .align_on = words.value(3), .page = words[2]},
                    [&done](const Result<std::string>& unread) { done = unread; });
    if (!wait([&] { return done.has_value(); })) return no("it is not written");
    if (*done && !(*done)->empty()) return no(QString::fromStdString(**done));
    return *done ? ok() : no(QString::fromStdString(done->error().message()));
  }
  if (what == "save") {
    const auto saved = window_.saveTrace(rest.value(0));
    return saved ? ok() : no(QString::fromStdString(saved.error().message()));
  }
  return no("what is `" + what + "`?");
}

}  // namespace
}  // namespace kevt::gui

int main(int argc, char** argv) {
  qputenv("KEVTRACE_GUI_NO_AUTOSAVE", "1");
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  kevt::gui::applyTheme(kevt::gui::ThemeChoice::Light);
  kevt::gui::Hands hands;
  for (std::string line; std::getline(std::cin, line);) {
    const QStringList answer = hands.obey(QString::fromStdString(line).split(QLatin1Char('\t')));
    for (const QString& one : answer) std::cout << one.toStdString() << '\n';
    std::cout.flush();
  }
  return 0;
}
