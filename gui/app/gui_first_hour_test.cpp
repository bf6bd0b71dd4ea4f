// What a first user found wrong in the window, each by its symptom.
#include <gtest/gtest.h>
#include <unistd.h>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QImage>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QTest>
#include <QTimer>
#include <QTreeView>
#include <QTreeWidget>

#include "gui/app/attach_dialog.h"
#include "gui/app/filter_bar.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/app/window_testing.h"
#include "gui/model/busy_pixels.h"
#include "gui/model/event_rows.h"
#include "gui/model/session.h"
#include "gui/model/trace_document.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {
namespace {

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

class GuiFirstHour : public WindowTest {
 protected:
  void SetUp() override {
    window_.resize(1500, 940);
    window_.show();
    QApplication::setActiveWindow(&window_);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
  }
  DefinitionEditor& editor() { return window_.probes().editor(); }
  QAction* action(const QString& text) {
    for (QAction* one : window_.findChildren<QAction*>())
      if (one->text() == text) return one;
    ADD_FAILURE() << qPrintable(text);
    return window_.actions().constFirst();
  }
  void write(const QString& text, int column) {
    editor().replaceText(text);
    ASSERT_TRUE(QTest::qWaitFor([&] { return editor().isChecked(); }, kPatienceMs));
    editor().goTo(0, column);
  }
  std::optional<std::size_t> lane(Lane::Kind kind) {
    const auto& lanes = window_.timeline().lanes();
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (lanes[i].kind == kind) return i;
    return std::nullopt;
  }
  // The window as somebody would see it; kept where KEVTRACE_GUI_TEST_SHOTS says.
  QImage picture(const QString& name) {
    window_.settle();
    const QString kept = qEnvironmentVariable("KEVTRACE_GUI_TEST_SHOTS");
    const QString path = kept.isEmpty() ? folder_.filePath(name + ".png") : kept + "/" + name + ".png";
    const auto saved = saveScreenshot(window_, path);
    EXPECT_TRUE(saved) << saved.error().message();
    return QImage(path);
  }

  MainWindow window_;
};

TEST_F(GuiFirstHour, CtrlSpaceCompletesAndDoesNotFreeze) {
  QFile symbols(folder_.filePath("kallsyms"));
  ASSERT_TRUE(symbols.open(QIODevice::WriteOnly));
  symbols.write("ffffffff81000000 T vfs_read\nffffffff81000100 T vfs_write\nffffffff81000200 T do_exit\n");
  symbols.close();
  window_.useKernelFiles(symbols.fileName(), {});
  window_.document().beginLive("test");  // so that there is something to freeze
  ASSERT_TRUE(window_.isActiveWindow());
  editor().setFocus();
  write("p:reading vfs_", 14);
  QTest::keyClick(&editor(), Qt::Key_Space, Qt::ControlModifier);
  WAIT_FOR(!editor().isCompleting());
  EXPECT_TRUE(editor().showsCompletion());
  EXPECT_EQ(editor().suggestions(), QStringList({"vfs_read", "vfs_write"}));
  EXPECT_FALSE(window_.timeline().isFrozen());
  EXPECT_EQ(editor().toPlainText(), "p:reading vfs_");
  QTest::keyClick(QApplication::activePopupWidget(), Qt::Key_Return);
  EXPECT_EQ(editor().toPlainText(), "p:reading vfs_read");
  // Freezing has keys of its own.
  QTest::keyClick(&window_.timeline(), Qt::Key_Space);
  EXPECT_TRUE(window_.timeline().isFrozen());
}

TEST_F(GuiFirstHour, NoKeyIsTwoThingsAtOnce) {
  QMap<QString, QString> taken = {{"Ctrl+Space", "the editor completes"}, {"Alt+Return", "the editor fixes"}};
  for (const QAction* one : window_.actions()) {
    const QString key = one->shortcut().toString(QKeySequence::PortableText);
    if (key.isEmpty()) continue;
    EXPECT_FALSE(taken.contains(key)) << qPrintable(key + ": " + taken.value(key) + ", " + one->text());
    taken[key] = one->text();
  }
}

// ---- slices shorter than a pixel

class GuiBusyPicture : public GuiFirstHour {
 protected:
  // Calls a millisecond apart, each of which takes that part of it.
  void open(double share, int calls) {
    const auto format = [](const char* name, int id, const char* field) {
      return *record::parse_format(
          "kprobes", "name: " + std::string(name) + "\nID: " + std::to_string(id) +
                         "\nformat:\n"
                         "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                         "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                         "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                         "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                         "\tfield:unsigned long " +
                         field + ";\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"(%lx)\", REC->" + field + "\n");
    };
    record::Metadata metadata;
    const record::EventFormat* ends[] = {&metadata.formats.add(format("work", 1700, "__probe_ip")),
                                         &metadata.formats.add(format("work_done", 1701, "__probe_func"))};
    metadata.comms[100] = "worker";
    const QString path = folder_.filePath("busy.dat");
    auto writer = record::create_recording(record::FileFormat::Dat, path.toStdString(), metadata);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 2 * calls; ++i) {
      std::uint8_t bytes[16] = {};
      const auto id = static_cast<std::uint16_t>(ends[i % 2]->id);
      const std::int32_t pid = 100;
      const std::uint64_t address = 0xffffffff81000000;
      std::memcpy(bytes, &id, 2);
      std::memcpy(bytes + 4, &pid, 4);
      std::memcpy(bytes + 8, &address, 8);
      const auto ns = 5'000'000'000 + static_cast<std::uint64_t>(i / 2) * 1'000'000 +
                      (i % 2 ? static_cast<std::uint64_t>(share * 1e6) : 0);
      ASSERT_TRUE((*writer)->add(
          {.event = ends[i % 2], .time_ns = ns, .cpu = 0, .pid = pid, .comm = "worker", .bytes = bytes}));
    }
    ASSERT_TRUE((*writer)->finish());
    window_.openTrace(path);
    window_.settle();
  }
  // What of the picture's rectangle, given in the timeline, has a colour of an event.
  double filled(const QImage& image, QRect rect) {
    const LaneColors colors(window_.palette());
    rect.moveTopLeft(window_.timeline().viewport()->mapTo(&window_, rect.topLeft()));
    rect = QRect(rect.topLeft() * image.devicePixelRatio(), rect.size() * image.devicePixelRatio());
    std::uint64_t hits = 0;
    for (int y = rect.top(); y <= rect.bottom(); ++y)
      for (int x = rect.left(); x <= rect.right(); ++x)
        hits += std::ranges::any_of(colors.events, [&](const QColor& c) { return image.pixelColor(x, y) == c; });
    return static_cast<double>(hits) / (rect.width() * rect.height());
  }
};

TEST_F(GuiBusyPicture, SlicesShorterThanAPixelDoNotVanish) {
  for (const double share : {0.992, 0.5, 0.2}) {
    open(share, 13'380);
    ASSERT_EQ(window_.document().view().rows(), 26'760u);
    const auto task = lane(Lane::Kind::Task), event = lane(Lane::Kind::Event);
    ASSERT_TRUE(task && event);
    TimelineView& timeline = window_.timeline();
    const double span = static_cast<double>(timeline.view().last_ns() - timeline.view().first_ns());
    // From ten slices in a pixel to slices of twenty pixels; longer ones have their names written in them.
    const double width = timeline.laneRect(*task).width();
    for (const double pixels_of_slice : {0.0, 0.5, 2.7, 20.0}) {
      const double zoom = std::max(1.0, 13'380 * pixels_of_slice / width);
      if (zoom > 1) timeline.setWindow(span * 0.3, span * 0.3 + span / zoom);
      const QImage image = picture(QStringLiteral("busy-%1-%2").arg(share).arg(zoom));
      const int from = static_cast<int>(timeline.xOf(timeline.view().first_ns())) + 2;
      const int to = static_cast<int>(timeline.xOf(timeline.view().last_ns())) - 2;
      const auto strip = [&](std::size_t which, int top, int height) {
        const QRect rect = timeline.laneRect(which);
        const int left = std::max(rect.left(), from), right = std::min(rect.right(), to);
        return QRect(left, rect.top() + top, right - left, height);
      };
      // The one row of slices; separators between boxes and the least height of a column are what it may be off by.
      EXPECT_NEAR(filled(image, strip(*task, 13, 15)), share, 0.06) << share << " at 1/" << zoom;
      EXPECT_NEAR(filled(image, strip(*event, timeline.lanes()[*event].height - 9, 7)), share, 0.08)
          << share << " at 1/" << zoom;
    }
    timeline.zoomToAll();
  }
}

// ---- the editor

TEST_F(GuiFirstHour, OfTwoMistakesOnALineBothAreShown) {
  write("p:op libc:open64 a=%rdi b=%rsi c=%di", 0);
  ASSERT_EQ(editor().checked().mistakes.size(), 2u);
  EXPECT_EQ(editor().extraSelections().size(), 2);
  EXPECT_EQ(editor().marginText(0), QStringLiteral("⚠2"));
  const QString verdict = window_.probes().verdictText();
  EXPECT_TRUE(verdict.contains("column 20") && verdict.contains("column 27")) << qPrintable(verdict);
  ASSERT_EQ(window_.problems().topLevelItemCount(), 2);
  EXPECT_EQ(window_.problems().topLevelItem(1)->text(0), QStringLiteral("⚠ line 1:27"));
  picture("mistakes");
}

TEST_F(GuiFirstHour, AltEnterFixesTheMistakeAtTheCursorOrAsksWhich) {
  const auto press = [&] { QTest::keyClick(&editor(), Qt::Key_Return, Qt::AltModifier); };
  editor().setFocus();
  write("p:op libc:open64 a=%rdi b=%rsi", 28);
  press();  // the second one, where the cursor is
  EXPECT_EQ(editor().toPlainText(), "p:op libc:open64 a=%rdi b=%si");
  write("p:op libc:open64 a=%rdi b=%zz", 29);
  press();  // the cursor is at one that has no fix; the line's only fix is meant
  EXPECT_EQ(editor().toPlainText(), "p:op libc:open64 a=%di b=%zz");
  write("p:op libc:open64 a=%rdi b=%rsi", 3);
  press();  // at neither: which one?
  ASSERT_TRUE(editor().fixMenu());
  ASSERT_EQ(editor().fixMenu()->actions().size(), 2);
  picture("fixes");
  editor().fixMenu()->actions()[1]->trigger();
  editor().fixMenu()->close();
  EXPECT_EQ(editor().toPlainText(), "p:op libc:open64 a=%rdi b=%si");
  // While the text is still being checked: when it was.
  editor().replaceText("p:op libc:open64 a=%rcx");
  press();
  WAIT_FOR(editor().toPlainText() == "p:op libc:open64 a=%cx");
}

TEST_F(GuiFirstHour, AltEnterFixesWhileSuggestionsAreShown) {
  editor().setFocus();
  write("p:op libc:open64 a=%rdi b=%s", 28);
  QTest::keyClick(&editor(), Qt::Key_Space, Qt::ControlModifier);
  WAIT_FOR(editor().showsCompletion());
  QTest::keyClick(QApplication::activePopupWidget(), Qt::Key_Return, Qt::AltModifier);
  EXPECT_EQ(editor().toPlainText(), "p:op libc:open64 a=%di b=%s");
  EXPECT_FALSE(editor().showsCompletion());
}

// ---- live, and not

TEST_F(GuiFirstHour, NothingIsWaitedForBesideRecordsThatAreThere) {
  ASSERT_TRUE(record(folder_.filePath("run.dat"))) << qPrintable(said_);
  window_.openTrace(folder_.filePath("run.dat"));
  window_.settle();
  const record::StoreView records = window_.document().view();
  const auto metadata = window_.document().metadata();
  ASSERT_GT(records.rows(), 300u);

  window_.document().beginLive("test");
  EXPECT_TRUE(window_.timeline().emptyText().contains("Waiting"));
  window_.timeline().setFrozen(true);
  window_.document().showLive(records, metadata);
  ASSERT_EQ(window_.table().rows().rowCount(), static_cast<int>(records.rows()));
  EXPECT_FALSE(window_.timeline().emptyText().contains("Waiting")) << qPrintable(window_.timeline().emptyText());
  EXPECT_TRUE(window_.timeline().emptyText().contains("Frozen"));
  picture("frozen");
  QTest::keyClick(&window_.timeline(), Qt::Key_Space);
  EXPECT_TRUE(window_.timeline().emptyText().isEmpty());
  EXPECT_GT(window_.timeline().lanes().size(), 3u);

  // A trace that ends while it is frozen shows what it had.
  window_.document().beginLive("test");
  window_.timeline().setFrozen(true);
  window_.document().showLive(records, metadata);
  window_.document().endLive();
  EXPECT_FALSE(window_.timeline().isFrozen());
  EXPECT_EQ(window_.timeline().view().rows(), records.rows());
}

TEST_F(GuiFirstHour, ARecordingShowsItsDefinitions) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  window_.openTrace(dat);
  window_.settle();
  EXPECT_TRUE(editor().isReadOnly());
  const QString text = editor().toPlainText();
  EXPECT_TRUE(text.contains("opening") && text.contains("path=+0(%di):string") && text.contains("fd=$retval:s32"))
      << qPrintable(text);
  EXPECT_TRUE(editor().checked().mistakes.empty());
  EXPECT_TRUE(window_.probes().verdictText().contains("recording")) << qPrintable(window_.probes().verdictText());
  EXPECT_FALSE(window_.probes().differenceText().startsWith("+"));
  QTest::keyClicks(&editor(), "x");
  EXPECT_EQ(editor().toPlainText(), text);
  picture("recording");
  // They are the recording's, not what somebody wrote.
  EXPECT_TRUE(window_.session().probes.isEmpty());
  window_.probes().recordedButton().click();
  EXPECT_FALSE(editor().isReadOnly());
  EXPECT_TRUE(editor().toPlainText().isEmpty());

  // What was written before is not lost, and stands in front.
  editor().replaceText("p:mine libc:close");
  window_.openTrace(dat);
  window_.settle();
  EXPECT_EQ(editor().toPlainText(), "p:mine libc:close");
  window_.probes().recordedButton().click();
  EXPECT_EQ(editor().toPlainText(), text);
  EXPECT_EQ(window_.session().probes, "p:mine libc:close");
  window_.probes().recordedButton().click();
  EXPECT_EQ(editor().toPlainText(), "p:mine libc:close");
}

TEST_F(GuiFirstHour, WithARecordingLiveActionsAreOffAndSayWhy) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  window_.openTrace(dat);
  window_.settle();
  for (const QString text : {"Freeze", "Follow", "Tracing", "Snapshot", "Stop", "Freeze the picture", "Follow the end",
                             "Stop the target", "Apply the definitions", "Take a snapshot", "Size of the buffer …",
                             "Take the definitions of the directory into the editor"}) {
    EXPECT_FALSE(action(text)->isEnabled()) << qPrintable(text);
    EXPECT_TRUE(action(text)->toolTip().contains("recording")) << qPrintable(text + ": " + action(text)->toolTip());
  }
  QTest::keyClick(&window_.timeline(), Qt::Key_Space);
  EXPECT_FALSE(window_.timeline().isFrozen());
  QTest::keyClick(&window_.timeline(), Qt::Key_End);
  EXPECT_FALSE(window_.timeline().isFollowing());
  // Nothing open, nothing to freeze either, for another reason.
  MainWindow other;
  for (QAction* one : other.findChildren<QAction*>())
    if (one->text() == "Freeze") {
      EXPECT_FALSE(one->isEnabled());
      EXPECT_TRUE(one->toolTip().contains("nothing is traced")) << qPrintable(one->toolTip());
    }
  // Live they can be used again.
  window_.document().beginLive("test");
  EXPECT_TRUE(action("Freeze")->isEnabled());
}

// ---- the filter

TEST_F(GuiFirstHour, TheFilterHoldsForTimelineCountsAndMeasurements) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  window_.openTrace(dat);
  TimelineView& timeline = window_.timeline();
  timeline.wishes().latencies = {"kprobes/opening"};
  timeline.wishes().heats = {"kprobes/opening"};
  timeline.wishesChanged();
  const QImage before = picture("filter-before");
  const auto lane_image = [&](Lane::Kind kind) {
    const auto at = lane(kind);
    if (at) timeline.selectLane(*at);
    window_.settle();
    return at ? timeline.viewport()->grab(timeline.laneRect(*at)).toImage() : QImage();
  };
  const QImage event = lane_image(Lane::Kind::Event), latency = lane_image(Lane::Kind::Latency),
               heat = lane_image(Lane::Kind::Heat);
  QTest::keyClicks(&window_.filterBar().edit(), "path ~ \"*passwd\" && flags != 1");
  WAIT_FOR(window_.table().rows().kept() && !window_.table().rows().isBusy());
  window_.settle();
  const auto kept = static_cast<std::uint64_t>(window_.table().rows().rowCount());
  ASSERT_GE(kept, 200u);
  ASSERT_LT(kept, window_.document().view().rows() / 2 + 1);

  // The timeline: its lanes, their counts, their pictures. The returns have no path: their lane has nothing to show.
  EXPECT_TRUE(timeline.isFiltered());
  std::uint64_t by_kind[16] = {};
  for (const Lane& one : timeline.lanes()) {
    if (one.kind == Lane::Kind::Event) {
      EXPECT_EQ(one.title, "opening");
    }
    if (one.kind != Lane::Kind::Group)
      by_kind[static_cast<int>(one.kind)] += record::count_lane(timeline.view(), one.key(), 0, ~0ull);
  }
  for (const Lane::Kind kind : {Lane::Kind::Cpu, Lane::Kind::Task, Lane::Kind::Event})
    EXPECT_EQ(by_kind[static_cast<int>(kind)], kept) << static_cast<int>(kind);
  EXPECT_NE(lane_image(Lane::Kind::Event), event);
  EXPECT_NE(lane_image(Lane::Kind::Latency), latency);
  EXPECT_NE(lane_image(Lane::Kind::Heat), heat);
  EXPECT_NE(picture("filter-after"), before);

  // Measure: the same records, and the durations of the calls they belong to.
  EXPECT_TRUE(window_.measure().head().contains("filtered")) << qPrintable(window_.measure().head());
  const QTreeWidgetItem* events = window_.measure().table().topLevelItem(0);
  ASSERT_EQ(events->childCount(), 1);
  EXPECT_EQ(events->child(0)->text(1).remove(QRegularExpression("\\D")).toULongLong(), kept);
  EXPECT_EQ(events->child(0)->child(0)->text(0), "duration");
  EXPECT_GE(events->child(0)->child(0)->text(1).remove(QRegularExpression("\\D")).toULongLong(), kept - 1);

  // It says what it holds for.
  const QString verdict = window_.filterBar().verdict();
  EXPECT_TRUE(verdict.contains("of") && verdict.contains("timeline") && verdict.contains("Measure"))
      << qPrintable(verdict);

  // For the next recording, too, since it still stands there.
  window_.openTrace(dat);
  window_.settle();
  WAIT_FOR(window_.table().rows().kept() && !window_.table().rows().isBusy());
  EXPECT_EQ(static_cast<std::uint64_t>(window_.table().rows().rowCount()), kept);

  // One that keeps all measures all.
  window_.filterBar().setText("common_pid >= 0");
  window_.settle();
  WAIT_FOR(window_.table().rows().kept() && !window_.table().rows().isBusy());
  window_.settle();
  const auto all = static_cast<std::uint64_t>(window_.document().view().rows());
  EXPECT_EQ(static_cast<std::uint64_t>(window_.table().rows().rowCount()), all);
  std::uint64_t measured = 0;
  const QTreeWidgetItem* both = window_.measure().table().topLevelItem(0);
  ASSERT_NE(both, nullptr);
  for (int i = 0; i < both->childCount(); ++i)
    measured += both->child(i)->text(1).remove(QRegularExpression("\\D")).toULongLong();
  EXPECT_EQ(measured, all);

  window_.filterBar().setText({});
  window_.settle();
  EXPECT_FALSE(timeline.isFiltered());
  EXPECT_EQ(window_.measure().table().topLevelItem(0)->childCount(), 2);
}

// ---- attaching

TEST_F(GuiFirstHour, AttachIsAListOfProcessesThatIsSearched) {
  const QString mark = QStringLiteral("first-hour-%1").arg(::getpid());
  const auto start = [&](QProcess& process) {
    process.start("/usr/bin/python3", {"-S", "-c", "import sys; sys.stdin.read()", mark});
    return process.waitForStarted(kPatienceMs);
  };
  QProcess target, later;
  ASSERT_TRUE(start(target));
  AttachDialog dialog(&window_);
  dialog.show();
  const auto settled = [&] { return QTest::qWaitFor([&] { return !dialog.processes().isBusy(); }, kPatienceMs); };
  ASSERT_TRUE(settled());
  EXPECT_TRUE(dialog.chosen().isEmpty());  // nobody means process 1
  EXPECT_FALSE(dialog.attachButton().isEnabled());
  if (const QString kept = qEnvironmentVariable("KEVTRACE_GUI_TEST_SHOTS"); !kept.isEmpty()) {
    EXPECT_TRUE(saveScreenshot(dialog, kept + "/attach.png"));
  }

  // Those that may be attached to come first.
  bool was_refused = false;
  for (int row = 0; row < dialog.processes().rowCount(); ++row) {
    const bool is_refused = !dialog.processes().at(row).refusal.isEmpty();
    EXPECT_FALSE(was_refused && !is_refused) << row;
    was_refused = is_refused;
  }
  EXPECT_TRUE(was_refused);  // this program itself at least

  // Letters of its command line find it.
  QTest::keyClicks(&dialog.edit(), mark);
  ASSERT_EQ(dialog.view().model()->rowCount(), 1);
  EXPECT_EQ(dialog.chosen(), QList<int>{static_cast<int>(target.processId())});
  const ProcessEntry& found = dialog.processes().at(0);
  EXPECT_FALSE(found.user.isEmpty());
  for (int row = 0; row < dialog.processes().rowCount(); ++row)
    if (const ProcessEntry& one = dialog.processes().at(row); one.pid == target.processId()) {
      EXPECT_EQ(one.name, "python3");
      EXPECT_TRUE(one.command.endsWith(mark)) << qPrintable(one.command);
    }

  // All of its name may be traced instead; that is offered for what is selected, and stays chosen while it is.
  EXPECT_TRUE(dialog.choice().empty());
  const int by_name = dialog.scope().findText("Trace all called python3, also those that come later");
  ASSERT_GT(by_name, 0);
  dialog.scope().setCurrentIndex(by_name);
  EXPECT_EQ(dialog.choice().comms, std::vector<std::string>{"python3"});

  // One that was started since is there after a refresh.
  ASSERT_TRUE(start(later));
  EXPECT_EQ(dialog.view().model()->rowCount(), 1);
  for (QPushButton* button : dialog.findChildren<QPushButton*>())
    if (button->text().startsWith("Refresh")) button->click();
  WAIT_FOR(dialog.view().model()->rowCount() == 2);
  dialog.view().selectAll();
  EXPECT_EQ(dialog.chosen().size(), 2);
  EXPECT_EQ(dialog.choice().comms, std::vector<std::string>{"python3"});
  dialog.edit().setText("no process has this in its command line");
  EXPECT_TRUE(dialog.choice().empty());

  // A number is that process, whatever other numbers it stands in; one that is not in the list is tried.
  dialog.edit().setText(QString::number(target.processId()));
  EXPECT_EQ(dialog.chosen(), QList<int>{static_cast<int>(target.processId())});
  dialog.edit().setText("4194303");
  EXPECT_EQ(dialog.chosen(), QList<int>{4194303});
  EXPECT_TRUE(dialog.attachButton().isEnabled());

  // One that cannot be attached to says why.
  dialog.edit().setText(QString::number(::getpid()));
  EXPECT_TRUE(dialog.chosen().isEmpty());
  EXPECT_FALSE(dialog.attachButton().isEnabled());
  EXPECT_TRUE(dialog.verdict().contains("itself")) << qPrintable(dialog.verdict());
  for (QProcess* process : {&target, &later}) {
    process->kill();
    process->waitForFinished(kPatienceMs);
  }
}

TEST_F(GuiFirstHour, WhatASelectedProcessHasInCommonIsOffered) {
  AttachDialog dialog(&window_);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.processes().isBusy(); }, kPatienceMs));
  const auto show = [&](std::vector<ProcessEntry> entries) {
    dialog.processes().show(std::move(entries));
    Q_EMIT dialog.processes().refreshed();
  };
  EXPECT_TRUE(dialog.view().isColumnHidden(ProcessList::Container));
  show({{.pid = 7, .name = "a*b", .container = "3f2a5b6c7d8e", .comm = "a*b", .cgroup = "/x.slice"}});
  EXPECT_FALSE(dialog.view().isColumnHidden(ProcessList::Container));
  dialog.edit().setText("3f2a");
  ASSERT_EQ(dialog.chosen(), QList<int>{7});
  ASSERT_EQ(dialog.scope().count(), 4);
  dialog.scope().setCurrentIndex(1);
  EXPECT_EQ(dialog.choice().comms, std::vector<std::string>{"a\\*b"}) << "this name, no glob";
  dialog.scope().setCurrentIndex(2);
  EXPECT_EQ(dialog.choice().containers, std::vector<std::string>{"3f2a5b6c7d8e"});
  dialog.scope().setCurrentIndex(3);
  EXPECT_EQ(dialog.choice().cgroups, std::vector<std::string>{"/x.slice"});
  show({});  // it has ended
  EXPECT_TRUE(dialog.choice().empty());
  EXPECT_EQ(dialog.scope().count(), 1);
}

TEST_F(GuiFirstHour, TheMenuOpensTheListOfProcesses) {
  bool was_there = false;
  QTimer look;
  QObject::connect(&look, &QTimer::timeout, [&] {
    auto* dialog = qobject_cast<AttachDialog*>(QApplication::activeModalWidget());
    if (!dialog) return;
    was_there = true;
    dialog->reject();
  });
  look.start(10);
  action("&Attach to a process …")->trigger();  // until it is closed
  EXPECT_TRUE(was_there);
  EXPECT_EQ(window_.document().state(), TraceDocument::State::Empty);
}

}  // namespace
}  // namespace kevt::gui
