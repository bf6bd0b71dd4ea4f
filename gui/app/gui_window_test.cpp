// The real window, without a screen: author a probe, run a target, see its hits, find and measure them, export, take it
// back.
#include <gtest/gtest.h>
#include <signal.h>

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QTest>
#include <QTreeWidget>
#include <algorithm>

#include "gui/app/command_palette.h"
#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/app/search_bar.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/session.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

class GuiWindow : public WindowTest {};

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

TEST_F(GuiWindow, FromAMistakeToAMeasuredEvent) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  MainWindow window;
  window.resize(1500, 940);
  window.show();

  // Author a probe with a mistake, take the fix-it.
  DefinitionEditor& editor = window.probes().editor();
  QTest::keyClicks(&editor, "p:opening libc:open64 path=+0(%rdi):string");
  WAIT_FOR(editor.isChecked() && !editor.checked().mistakes.empty());
  EXPECT_EQ(editor.checked().mistakes[0].text, "Invalid register name");
  EXPECT_TRUE(window.problems().has("Invalid register name"));
  EXPECT_FALSE(window.probes().canApply());
  QTest::keyClick(&editor, Qt::Key_Escape);
  QTest::keyClick(&editor, Qt::Key_Return, Qt::AltModifier);
  EXPECT_EQ(editor.toPlainText(), "p:opening libc:open64 path=+0(%di):string");
  WAIT_FOR(editor.isChecked() && editor.checked().mistakes.empty());
  EXPECT_FALSE(window.problems().has("Invalid register name"));

  // Run a target, apply.
  window.startTarget(
      {"/usr/bin/python3", "-S", "-c",
       "import time\nwhile True:\n open('/etc/passwd').close(); open('/dev/null').close(); time.sleep(0.003)"});
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  if (window.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  ASSERT_TRUE(window.service().isRunning())
      << qPrintable(window.problems().topLevelItemCount() ? window.problems().topLevelItem(0)->text(1) : QString());
  WAIT_FOR(window.probes().canApply());
  EXPECT_TRUE(window.probes().differenceText().startsWith("+ p:opening"))
      << qPrintable(window.probes().differenceText());
  // By its action: without a window manager no window is active, and shortcuts want one.
  for (QAction* action : window.actions())
    if (action->shortcut() == QKeySequence("Ctrl+Return")) action->trigger();
  EXPECT_FALSE(window.probes().canApply());  // it is being written
  WAIT_FOR(window.probes().owned().contains("kprobes/opening"));
  WAIT_FOR(window.files().topLevelItemCount() >= 2);

  // Hits rise, records arrive.
  const auto hits = [&]() -> std::uint64_t {
    const LiveEvent* event = window.eventTree().eventAt(window.eventTree().find("kprobes", "opening"));
    return event && event->is_enabled ? event->hits : 0;
  };
  WAIT_FOR(hits() > 5);
  const std::uint64_t before = hits();
  WAIT_FOR(hits() > before);
  WAIT_FOR(window.document().view().rows() > 50);

  // Completion by name, where the library has debug information; what it reads stands beside the line.
  if (QFile::exists("/usr/lib/debug/.build-id")) {
    QTest::keyClick(&editor, Qt::Key_End, Qt::ControlModifier);
    QTest::keyClicks(&editor, " f=ofl");
    WAIT_FOR(!editor.isCompleting() && editor.suggestions().contains("oflag"));
    QTest::keyClick(&editor, Qt::Key_Escape);
    for (int i = 0; i < 6; ++i) QTest::keyClick(&editor, Qt::Key_Backspace);
    WAIT_FOR(editor.isChecked() && editor.checked().mistakes.empty());
    EXPECT_EQ(editor.toPlainText(), "p:opening libc:open64 path=+0(%di):string");
  }

  // Frozen, the picture stays while records go on.
  window.timeline().setFrozen(true);
  const record::Row shown = window.timeline().view().rows();
  WAIT_FOR(window.timeline().newWhileFrozen() > 0);
  EXPECT_EQ(window.timeline().view().rows(), shown);
  window.timeline().setFrozen(false);

  // Its format, and a filter written to its file.
  window.events().select("kprobes", "opening");
  WAIT_FOR(window.events().formatText().contains("__data_loc char[] path"));
  window.events().tabs().setCurrentIndex(EventsPanel::Code);
  WAIT_FOR(window.events().codePage().text().contains("machine code"));
  EXPECT_TRUE(window.events().codePage().text().contains("by a jump")) << qPrintable(window.events().codePage().text());
  EXPECT_TRUE(window.events().exportAsPage().text(2).startsWith("target program /usr/bin/python3"))
      << qPrintable(window.events().exportAsPage().text(2));
  window.events().tabs().setCurrentIndex(EventsPanel::Filter);
  window.events().filterEdit().setText("nothing > 3");
  EXPECT_TRUE(window.events().filterVerdict().contains("Field not found"))
      << qPrintable(window.events().filterVerdict());
  window.events().filterEdit().setText("path ~ \"/etc/*\"");
  WAIT_FOR(window.events().filterVerdict().contains("would have kept"));
  QTest::keyClick(&window.events().filterEdit(), Qt::Key_Return);
  WAIT_FOR(window.eventTree().eventAt(window.eventTree().find("kprobes", "opening"))->filter == "path ~ \"/etc/*\"");

  // Filter the table, find an event in the timeline, measure.
  QTest::keyClicks(&window.filterBar().edit(), "path ~ \"/etc/*\"");
  WAIT_FOR(window.table().rows().rowCount() > 5 && window.filterBar().verdict().contains("records"));
  window.timeline().setFrozen(true);
  window.table().setCurrentPosition(3);
  ASSERT_TRUE(window.timeline().selectedRow());
  EXPECT_EQ(*window.timeline().selectedRow(), window.table().rows().rowAt(3));
  const record::StoreView& view = window.timeline().view();
  window.timeline().addMarker(view.time_ns(*window.timeline().selectedRow()));
  window.timeline().setRange(std::pair(view.first_ns(), view.last_ns()));
  WAIT_FOR(!window.measure().isBusy() && window.measure().table().topLevelItemCount() == 2);
  EXPECT_EQ(window.measure().table().topLevelItem(0)->child(0)->text(0), "opening");
  window.settle();
  if (const QByteArray shot = qgetenv("KEVTRACE_GUI_TEST_SHOT"); !shot.isEmpty()) {
    EXPECT_TRUE(saveScreenshot(window, QString::fromLocal8Bit(shot)));
  }
  EXPECT_FALSE(window.problems().has("dynamic_events"));

  // Export what is selected, three ways.
  for (const QString name : {"out.txt", "out.csv", "out.json"}) {
    const auto done = window.exportRows(folder_.filePath(name), 0, 3);
    ASSERT_TRUE(done) << done.error().message();
    QFile file(folder_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_GE(file.readAll().count("/etc/passwd"), 4) << qPrintable(name);
  }
  const auto saved = window.saveTrace(folder_.filePath("live.dat"));
  EXPECT_TRUE(saved) << saved.error().message();

  // Undo takes the filter away again, then the event.
  window.probes().undoStack().undo();
  WAIT_FOR(window.eventTree().eventAt(window.eventTree().find("kprobes", "opening"))->filter.isEmpty());
  window.probes().undoStack().undo();
  WAIT_FOR(!window.eventTree().find("kprobes", "opening").isValid());
  const int pid = window.target().pid();
  ASSERT_GT(pid, 0);
  window.target().stop();
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
  WAIT_FOR(::kill(pid, 0) != 0);  // the program was started by the window, and ends with it
}

// By the menu's switch: what a shell starts, and what it becomes.
TEST_F(GuiWindow, ProgramsThatTheTargetStarts) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  MainWindow window;
  window.show();
  for (QAction* action : window.actions())
    if (action->text() == "Trace also the &programs that it starts") action->setChecked(true);
  ASSERT_TRUE(window.target().isFollowing());
  window.probes().editor().replaceText("p:begun libc:__libc_start_main argc=%si:s32");
  const QString go = folder_.filePath("go");
  window.startTarget(
      {"/bin/sh", "-c",
       "until [ -e \"$0\" ]; do read x < /dev/null; done; sh -c 'cat /dev/null; exec cat /dev/null'; exec cat "
       "/dev/null",
       go},
      MainWindow::Start::Applies);
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  if (window.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  const auto event = [&] { return window.eventTree().eventAt(window.eventTree().find("kprobes", "begun")); };
  WAIT_FOR(event() && event()->is_enabled);
  ASSERT_TRUE(QFile(go).open(QIODevice::WriteOnly));
  WAIT_FOR(event() && event()->hits == 4);  // sh, its cat, what sh became, and what the shell became
}

// What a program says of ends is its own word; of two processes the one that is left goes on being shown.
TEST_F(GuiWindow, TheTraceGoesOnUntilTheLastProgramHasEnded) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  QProcess first, second;
  for (QProcess* one : {&first, &second}) {
    one->start("/usr/bin/python3",
               {"-S", "-u", "-c",
                "import time\nprint('it has ended')\nwhile True:\n open('/etc/passwd').close(); time.sleep(0.003)"});
    ASSERT_TRUE(one->waitForReadyRead());
  }
  MainWindow window;
  window.show();
  window.probes().editor().replaceText("p:opening libc:open64");
  window.attachTo({static_cast<int>(first.processId()), static_cast<int>(second.processId())},
                  MainWindow::Start::Applies);
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  if (window.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  ASSERT_TRUE(window.service().isRunning());
  const auto rows = [&] { return window.document().view().rows(); };
  WAIT_FOR(rows() > 20);
  first.kill();
  ASSERT_TRUE(first.waitForFinished());
  for (int round = 0; round < 3; ++round) {
    const record::Row before = rows();
    WAIT_FOR(rows() > before + 20);
  }
  EXPECT_EQ(window.document().state(), TraceDocument::State::Live);
  second.kill();
  ASSERT_TRUE(second.waitForFinished());
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
  EXPECT_TRUE(window.service().isRunning());  // its directory is still there
  const auto event = [&] { return window.eventTree().eventAt(window.eventTree().find("kprobes", "opening")); };
  WAIT_FOR(event() && event()->hits == rows());  // the last ones, too
}

TEST_F(GuiWindow, ARecordingItsSessionAndItsPicture) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  const QString kevs = folder_.filePath("run.kevs");
  {
    MainWindow window;
    window.resize(1200, 800);
    window.show();
    window.openTrace(dat);
    window.settle();
    ASSERT_GT(window.document().view().rows(), 300u);
    EXPECT_TRUE(window.document().problems().isEmpty()) << qPrintable(window.document().problems().join('\n'));
    window.timeline().addMarker(window.timeline().view().time_ns(100));
    window.timeline().selectRow(100);
    window.timeline().wishes().fields.emplace_back("kprobes/opened", "fd");
    window.timeline().wishesChanged();
    window.filterBar().setText("opening: ");
    window.settle();
    const auto saved = window.writeSession(kevs);
    ASSERT_TRUE(saved) << saved.error().message();
  }
  MainWindow window;
  window.resize(1200, 800);
  window.show();
  ASSERT_TRUE(window.openSession(kevs));
  window.settle();
  ASSERT_EQ(window.timeline().markers().size(), 1u);
  EXPECT_EQ(window.timeline().markers()[0].ns, window.timeline().view().time_ns(100));
  EXPECT_EQ(window.timeline().selectedRow(), 100u);
  EXPECT_EQ(window.filterBar().text(), "opening: ");
  EXPECT_TRUE(window.timeline().isComplete());
  const QString png = folder_.filePath("shot.png");
  ASSERT_TRUE(saveScreenshot(window, png));
  EXPECT_GT(QFile(png).size(), 20'000);
  EXPECT_FALSE(saveScreenshot(window, folder_.filePath("no/such/folder.png")));
}

TEST_F(GuiWindow, TheCommandLineMakesAPictureOfASession) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  Session session;
  session.trace = "run.dat";
  const QString kevs = folder_.filePath("run.kevs");
  ASSERT_TRUE(saveSession(session, kevs));
  const auto run = [&](const QStringList& words) {
    QProcess gui;
    gui.start(QApplication::applicationDirPath() + "/kevtrace-gui", words + QStringList{"--platform", "offscreen"});
    return gui.waitForFinished(kPatienceMs) ? gui.exitCode() : -1;
  };
  EXPECT_EQ(run({"--session", kevs, "--theme", "dark", "--screenshot", folder_.filePath("with.png")}), 0);
  EXPECT_EQ(run({"--theme", "dark", "--screenshot", folder_.filePath("without.png")}), 0);
  // The one with the trace shows far more than an empty window.
  EXPECT_GT(QFile(folder_.filePath("with.png")).size(), 2 * QFile(folder_.filePath("without.png")).size());
  EXPECT_EQ(run({"--session", folder_.filePath("none.kevs"), "--screenshot", folder_.filePath("x.png")}), 1);
  EXPECT_EQ(run({"--theme", "purple"}), 1);
}

TEST_F(GuiWindow, TheTimelineByMouseAndKeyboard) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  MainWindow window;
  window.resize(1200, 900);
  window.show();
  window.openTrace(dat);
  window.settle();
  TimelineView& timeline = window.timeline();
  const double all = timeline.window().ns_per_pixel;
  QTest::keyClick(&timeline, Qt::Key_W);
  EXPECT_LT(timeline.window().ns_per_pixel, all);
  QTest::keyClick(&timeline, Qt::Key_S);
  QTest::keyClick(&timeline, Qt::Key_Home);
  EXPECT_NEAR(timeline.window().ns_per_pixel, all, all * 0.01);

  // A click on a lane selects its nearest record, in the table, too.
  const record::StoreView& view = timeline.view();
  const QString task = QStringLiteral("task:%1").arg(view.names().tasks[view.task(40)].pid);  // it may change its CPU
  const auto of_task =
      std::ranges::find(timeline.lanes(), task, [&](const Lane& one) { return one.name(view.names()); });
  ASSERT_NE(of_task, timeline.lanes().end());
  const QPoint at(static_cast<int>(timeline.xOf(view.time_ns(40))),
                  timeline.laneRect(static_cast<std::size_t>(of_task - timeline.lanes().begin())).center().y());
  QTest::mouseClick(timeline.viewport(), Qt::LeftButton, {}, at);
  ASSERT_TRUE(timeline.selectedRow());
  EXPECT_EQ(window.table().rows().rowAt(window.table().currentPosition()), *timeline.selectedRow());
  const record::Row first = *timeline.selectedRow();
  QTest::keyClick(&timeline, Qt::Key_BracketRight);
  EXPECT_GT(*timeline.selectedRow(), first);
  QTest::keyClick(&timeline, Qt::Key_M);
  EXPECT_EQ(timeline.markers().size(), 1u);

  // A drag selects a range; F zooms to it; Z goes back.
  QTest::mousePress(timeline.viewport(), Qt::LeftButton, {}, at);
  QTest::mouseMove(timeline.viewport(), at + QPoint(60, 0));
  QTest::mouseMove(timeline.viewport(), at + QPoint(120, 0));
  QTest::mouseRelease(timeline.viewport(), Qt::LeftButton, {}, at + QPoint(120, 0));
  ASSERT_TRUE(timeline.range());
  EXPECT_GT(timeline.range()->second, timeline.range()->first);
  QTest::keyClick(&timeline, Qt::Key_F);
  EXPECT_LT(timeline.window().ns_per_pixel, all / 2);
  QTest::keyClick(&timeline, Qt::Key_Z);
  EXPECT_NEAR(timeline.window().ns_per_pixel, all, all * 0.01);

  // Lanes are chosen, moved and pinned by the keyboard.
  timeline.selectLane(1);
  QTest::keyClick(&timeline, Qt::Key_P);
  EXPECT_EQ(timeline.lanes()[0].title, "Pinned");
  QTest::keyClick(&timeline, Qt::Key_P);
  EXPECT_NE(timeline.lanes()[0].title, "Pinned");
  std::size_t first_event = 0;
  while (timeline.lanes()[first_event].kind != Lane::Kind::Event) ++first_event;
  const QString moved = timeline.lanes()[first_event].title;
  timeline.selectLane(first_event);
  QTest::keyClick(&timeline, Qt::Key_Down, Qt::AltModifier);
  EXPECT_EQ(timeline.lanes()[first_event + 1].title, moved);
  QTest::keyClick(&timeline, Qt::Key_Up, Qt::AltModifier);
  EXPECT_EQ(timeline.lanes()[first_event].title, moved);
  const QPoint name(40, timeline.laneRect(first_event).center().y());
  QTest::mousePress(timeline.viewport(), Qt::LeftButton, {}, name);
  QTest::mouseMove(timeline.viewport(), name + QPoint(0, timeline.laneRect(first_event).height()));
  QTest::mouseRelease(timeline.viewport(), Qt::LeftButton, {},
                      name + QPoint(0, timeline.laneRect(first_event).height()));
  EXPECT_EQ(timeline.lanes()[first_event + 1].title, moved);

  // What assistive programs read: lanes, and the records of each that are in sight.
  QAccessibleInterface* list = QAccessible::queryAccessibleInterface(&timeline);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->childCount(), static_cast<int>(timeline.lanes().size()));
  QAccessibleInterface* lane = list->child(static_cast<int>(first_event));
  EXPECT_TRUE(lane->text(QAccessible::Name).startsWith(timeline.lanes()[first_event].title))
      << qPrintable(lane->text(QAccessible::Name));
  ASSERT_GT(lane->childCount(), 0);
  EXPECT_TRUE(lane->child(0)->text(QAccessible::Name).contains("python3-"))
      << qPrintable(lane->child(0)->text(QAccessible::Name));
  // Every widget that takes the keyboard says what it is.
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    const bool is_ours = widget->focusPolicy() != Qt::NoFocus && widget->isVisible() &&
                         !widget->inherits("QScrollBar") && !widget->inherits("QTabBar") &&
                         !widget->inherits("QHeaderView") && !widget->inherits("QScrollArea") &&
                         !widget->inherits("QTabWidget") && !widget->inherits("QMenuBar") &&
                         !widget->inherits("QLabel") && !widget->objectName().startsWith("qt_");
    QAccessibleInterface* named =
        is_ours ? QAccessible::queryAccessibleInterface(const_cast<QWidget*>(widget)) : nullptr;
    if (!named) continue;
    EXPECT_FALSE(named->text(QAccessible::Name).isEmpty())
        << widget->metaObject()->className() << " in " << widget->parentWidget()->metaObject()->className();
  }

  // A search goes from hit to hit, in timeline and table.
  window.search().open();
  window.search().edit().setText("/etc/passwd");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window.search().search().isBusy(); }, kPatienceMs));
  ASSERT_GE(window.search().search().hits().size(), 200u);
  timeline.selectRow(0);
  window.search().setCurrent(0);
  window.search().step(1);
  EXPECT_EQ(timeline.selectedRow(), window.search().search().hits()[0]);
  EXPECT_TRUE(window.search().verdict().startsWith("1 of ")) << qPrintable(window.search().verdict());
  window.search().step(-1);
  EXPECT_EQ(timeline.selectedRow(), window.search().search().hits().back());

  // Markers: distances of each to each, a note.
  timeline.setMarkers({{timeline.view().time_ns(10), "A", {}}, {timeline.view().time_ns(90), "B", {}}});
  ASSERT_EQ(window.measure().markers().topLevelItemCount(), 2);
  EXPECT_EQ(window.measure().markers().headerItem()->text(4), "from B");
  window.measure().markers().topLevelItem(1)->setText(1, "slow here");
  ASSERT_TRUE(QTest::qWaitFor([&] { return timeline.markers()[1].note == "slow here"; }, kPatienceMs));

  // A recording has its events in the tree, each with its format.
  EXPECT_TRUE(window.eventTree().find("kprobes", "opened").isValid());
  window.events().select("kprobes", "opened");
  EXPECT_TRUE(window.events().formatText().contains("s32 fd")) << qPrintable(window.events().formatText());

  // Everything is in the palette.
  CommandPalette palette(window.actions(), &window);
  const double unzoomed = timeline.window().ns_per_pixel;
  palette.edit().setText("zoom in");
  palette.run();
  EXPECT_LT(timeline.window().ns_per_pixel, unzoomed);
  EXPECT_GE(window.actions().size(), 25);
}

}  // namespace
}  // namespace kevt::gui
