// Histograms in the window: of a program while it runs, and of a recording.
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QTest>
#include <QToolButton>
#include <QTreeView>

#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/histogram_panel.h"
#include "gui/app/latency_dialog.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/histogram_view.h"

namespace kevt::gui {

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

class GuiHistogram : public WindowTest {
 protected:
  void SetUp() override {
    window_.resize(1500, 940);
    window_.show();
    QApplication::setActiveWindow(&window_);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
    window_.findChild<QDockWidget*>(QStringLiteral("histogram"))->raise();
  }
  HistogramPanel& panel() { return window_.histograms(); }
  QToolButton* button(const QString& text) {
    for (QToolButton* one : panel().findChildren<QToolButton*>())
      if (one->text() == text) return one;
    ADD_FAILURE() << qPrintable(text);
    return nullptr;
  }
  void picture(const QString& name) {
    const QString kept = qEnvironmentVariable("KEVTRACE_GUI_TEST_SHOTS");
    const QString path = kept.isEmpty() ? folder_.filePath(name + ".png") : kept + "/" + name + ".png";
    EXPECT_TRUE(saveScreenshot(window_, path));
  }
  // What the trace says itself: how many of the loaded records the filter leaves.
  int rows() {
    window_.settle();
    return window_.table().rows().rowCount();
  }

  MainWindow window_;
};

TEST_F(GuiHistogram, FillsWhileTheProgramRuns) {
  // Writes of 1 to 4000 bytes, all the time.
  window_.startTarget({"/usr/bin/python3", "-S", "-c",
                       "import os, time\n"
                       "f = os.open('/dev/null', os.O_WRONLY)\n"
                       "while True:\n"
                       "  for n in (1, 20, 300, 4000, 300, 300): os.write(f, b'x' * n)\n"
                       "  time.sleep(0.001)\n"});
  WAIT_FOR(window_.service().isRunning());
  DefinitionEditor& editor = window_.probes().editor();
  editor.replaceText("p:wrote libc:write fd=%di:s32 len=%dx:u64");
  WAIT_FOR(editor.isChecked() && window_.probes().canApply());
  for (QAction* action : window_.actions())
    if (action->shortcut() == QKeySequence(QStringLiteral("Ctrl+Return"))) action->trigger();
  WAIT_FOR(window_.eventTree().find("kprobes", "wrote").isValid());
  window_.events().select("kprobes", "wrote");
  EXPECT_TRUE(panel().histogram().isHidden());

  // Another histogram is a line away.
  panel().keys().setText("fd,len.log2");
  panel().values().setText("len");
  QTest::keyClick(&panel().keys(), Qt::Key_Return);
  WAIT_FOR(panel().track() && panel().track()->slices().size() >= 3 && panel().track()->hits() > 0);
  const HistogramPicture& shown = panel().picture().picture();
  ASSERT_GE(shown.lines.size(), 13u);  // 0 to 1 up to 2049 to 4096
  EXPECT_EQ(shown.lines[0].range, (record::HistFileRange{0, 1}));
  EXPECT_GE(shown.slices.size(), 3u);
  const auto line = std::ranges::find(shown.lines, record::HistFileRange{257, 512}, [](const HistogramLine& one) {
    return one.range.value_or(record::HistFileRange{});
  });
  ASSERT_NE(line, shown.lines.end());
  const auto at = static_cast<std::size_t>(line - shown.lines.begin());  // `line` goes with the next reading
  EXPECT_GT(line->hits, shown.lines[0].hits);
  std::uint64_t all = 0, over_time = 0;
  for (const HistogramLine& one : shown.lines) {
    all += one.hits;
    for (const std::uint64_t hits : one.over_time) over_time += hits;
  }
  EXPECT_EQ(all, panel().track()->hits());
  EXPECT_LE(over_time, all);
  EXPECT_GT(over_time, 0u);
  EXPECT_TRUE(panel().head().contains("p50 512")) << qPrintable(panel().head());
  EXPECT_GT(panel().table().model()->rowCount(), 3);
  EXPECT_FALSE(panel().group().isHidden());
  picture("histogram-live");

  // A line by mouse: what it is told, and the filter that it makes.
  const QRectF cell = panel().picture().cellRect(at, 1);
  ASSERT_FALSE(cell.isEmpty());
  EXPECT_TRUE(panel().picture().textAt(cell.center()).contains(" s to "))
      << qPrintable(panel().picture().textAt(cell.center()));
  QTest::mouseClick(&panel().picture(), Qt::LeftButton, {}, panel().picture().lineRect(at).center().toPoint());
  EXPECT_EQ(panel().lineFilter(), "len >= 257 && len <= 512");
  button("Record only these…")->click();
  EXPECT_EQ(window_.events().filterEdit().text(), "len >= 257 && len <= 512");
  EXPECT_EQ(window_.events().tabs().currentIndex(), EventsPanel::Filter);

  // Paused, it stands still; continued, cleared and removed.
  button("Pause")->click();
  WAIT_FOR(panel().track() && panel().track()->head().is_paused);
  const std::uint64_t stood = panel().track()->hits();
  const std::size_t slices = panel().track()->slices().size();
  WAIT_FOR(panel().track()->slices().size() >= slices + 2);
  EXPECT_EQ(panel().track()->hits(), stood);
  EXPECT_TRUE(panel().head().contains("paused"));
  button("Clear")->click();
  WAIT_FOR(panel().track() && panel().track()->hits() == 0);
  button("Continue")->click();
  WAIT_FOR(panel().track() && !panel().track()->head().is_paused && panel().track()->hits() > 0);
  button("Remove")->click();
  WAIT_FOR(panel().track() == nullptr);
  picture("histogram-empty");
  // A mistake is the directory's to name.
  panel().keys().setText("nosuch");
  QTest::keyClick(&panel().keys(), Qt::Key_Return);
  WAIT_FOR(window_.problems().topLevelItemCount() > 0);
  EXPECT_EQ(panel().track(), nullptr);
}

TEST_F(GuiHistogram, ShowsWhatARecordingHasKept) {
  const QString dat = folder_.filePath("counted.dat");
  QProcess kevtrace;
  kevtrace.setProcessChannelMode(QProcess::MergedChannels);
  kevtrace.start(TargetProcess::findKevtrace(),
                 {"run", "-o", dat, "--interval", "0.2", "-e", "p:wrote libc:write len=%dx:u64", "-e",
                  "p:opening libc:open64 flags=%si:x32", "--trigger", "wrote: hist:keys=len.loglinear", "--hist",
                  "opening: keys=flags.hex", "--", "/usr/bin/python3", "-S", "-c",
                  "import os, time\n"
                  "f = os.open('/dev/null', os.O_WRONLY)\n"
                  "for i in range(600): os.write(f, b'x' * (i * 10)), time.sleep(0.001)\n"
                  "for i in range(30): open('/etc/passwd').close()\n"});
  ASSERT_TRUE(kevtrace.waitForFinished(kPatienceMs));
  said_ = QString::fromUtf8(kevtrace.readAll());
  ASSERT_EQ(kevtrace.exitCode(), 0) << qPrintable(said_);
  window_.openTrace(dat);
  window_.settle();
  ASSERT_EQ(panel().histogram().count(), 2) << qPrintable(said_);
  const int wrote = panel().histogram().findText("kprobes:wrote: ", Qt::MatchStartsWith);
  ASSERT_GE(wrote, 0);
  panel().histogram().setCurrentIndex(wrote);
  Q_EMIT panel().histogram().activated(wrote);
  ASSERT_NE(panel().track(), nullptr);
  EXPECT_GE(panel().track()->hits(), 600u);
  EXPECT_GE(panel().picture().picture().slices.size(), 3u);
  EXPECT_TRUE(panel().keys().isHidden() || !panel().keys().isVisible());  // nothing to be counted now
  picture("histogram-recording");

  // A double click leaves the records of the line.
  const HistogramPicture& shown = panel().picture().picture();
  const auto most = std::ranges::max_element(shown.lines, {}, &HistogramLine::hits);
  const auto at = static_cast<std::size_t>(most - shown.lines.begin());
  QTest::mouseDClick(&panel().picture(), Qt::LeftButton, {}, panel().picture().lineRect(at).center().toPoint());
  EXPECT_TRUE(window_.filterBar().text().startsWith("wrote: len ")) << qPrintable(window_.filterBar().text());
  EXPECT_EQ(static_cast<std::uint64_t>(rows()), most->hits);

  // By keys: down to the second line, Return.
  window_.filterBar().setText("");
  panel().picture().setFocus();
  QTest::keyClick(&panel().picture(), Qt::Key_Home);
  QTest::keyClick(&panel().picture(), Qt::Key_Down);
  EXPECT_EQ(panel().picture().current(), 1u);
  QTest::keyClick(&panel().picture(), Qt::Key_Return);
  EXPECT_EQ(static_cast<std::uint64_t>(rows()), shown.lines[1].hits);

  // What was counted and not recorded has no records; its table is there.
  const int opening = panel().histogram().findText("kprobes:opening: ", Qt::MatchStartsWith);
  ASSERT_GE(opening, 0);
  panel().histogram().setCurrentIndex(opening);
  Q_EMIT panel().histogram().activated(opening);
  EXPECT_GE(panel().track()->hits(), 30u);
  EXPECT_GE(panel().table().model()->rowCount(), 1);

  // A recording without any says how to get them.
  const QString none = folder_.filePath("none.dat");
  ASSERT_TRUE(record(none)) << qPrintable(said_);
  window_.openTrace(none);
  window_.settle();
  EXPECT_EQ(panel().track(), nullptr);
  EXPECT_TRUE(panel().picture().picture().lines.empty());
}

// A call that takes 2 ms: the time between its two events, by thread, becomes an event with records and a histogram.
TEST_F(GuiHistogram, TwoEventsAndAKeyMakeALatency) {
  window_.startTarget({"/usr/bin/python3", "-S", "-c",
                       "import select, os\n"
                       "f = os.open('/dev/null', os.O_WRONLY)\n"
                       "while True:\n"
                       "  os.write(f, b'x' * 7)\n"
                       "  select.select([], [], [], 0.002)\n"});
  WAIT_FOR(window_.service().isRunning());
  DefinitionEditor& editor = window_.probes().editor();
  editor.replaceText(
      "p:waits libc:select\np:wrote libc:write fd=%di:s32 len=%dx:u64\nr:waited libc:select ret=$retval:s32");
  WAIT_FOR(editor.isChecked() && window_.probes().canApply());
  window_.probes().apply();
  WAIT_FOR(window_.eventTree().find("kprobes", "waited").isValid());
  window_.events().select("kprobes", "waits");
  button("Latency…")->click();
  auto* dialog = window_.findChild<LatencyDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(dialog->event(LatencyDialog::Begin).currentText(), "kprobes:waits");
  EXPECT_EQ(dialog->verdict().isEmpty(), dialog->applyButton().isEnabled());

  // Choices and mistakes.
  dialog->event(LatencyDialog::End).setCurrentText("kprobes:wrote");
  WAIT_FOR(dialog->key(LatencyDialog::End).count() == 2 && dialog->applyButton().isEnabled());
  EXPECT_EQ(dialog->key(LatencyDialog::End).itemText(1), "fd");  // of 4 bytes with a sign, as common_pid; len is not
  EXPECT_EQ(dialog->name().text(), "waits_to_wrote");
  dialog->event(LatencyDialog::Begin).setCurrentText("kprobes:wrote");
  WAIT_FOR(dialog->verdict().contains("one event to another"));
  dialog->event(LatencyDialog::Begin).setCurrentText("kprobes:waits");
  dialog->event(LatencyDialog::End).setCurrentText("kprobes:waited");
  dialog->kept().setText("nosuch");
  WAIT_FOR(dialog->verdict() == "waited has no field nosuch.");
  EXPECT_TRUE(dialog->filesText().isEmpty());
  dialog->kept().setText("__probe_func, ret");
  const auto type = [](QLineEdit& line, const char* text) {  // in place of what is there
    line.selectAll();
    QTest::keyClicks(&line, text);
  };
  type(dialog->name(), "a");
  EXPECT_TRUE(dialog->verdict().contains("two letters")) << qPrintable(dialog->verdict());
  EXPECT_FALSE(dialog->applyButton().isEnabled());

  // The files are shown before they are written.
  QTest::keyClicks(&dialog->name(), "way");
  dialog->kept().setText("ret");
  ASSERT_TRUE(dialog->applyButton().isEnabled()) << qPrintable(dialog->verdict());
  EXPECT_EQ(
      dialog->filesText().toStdString(),
      "echo 'away u64 us; int common_pid; s32 ret' >> synthetic_events\n"
      "echo 'hist:keys=common_pid:away_t0=common_timestamp.usecs' >> events/kprobes/waits/trigger\n"
      "echo "
      "'hist:keys=common_pid:us=common_timestamp.usecs-$away_t0:onmatch(kprobes.waits).trace(away,$us,common_pid,ret)' "
      ">> events/kprobes/waited/trigger\n"
      "echo 'hist:keys=us.log2' >> events/synthetic/away/trigger\n"
      "echo '1' > events/synthetic/away/enable");
  {
    const QString kept = qEnvironmentVariable("KEVTRACE_GUI_TEST_SHOTS");
    if (!kept.isEmpty()) dialog->grab().save(kept + "/latency-form.png");
  }
  QTest::mouseClick(&dialog->applyButton(), Qt::LeftButton);
  WAIT_FOR(!window_.findChild<LatencyDialog*>())
      << qPrintable(window_.problems().topLevelItemCount() ? window_.problems().topLevelItem(0)->text(1) : "");
  WAIT_FOR(window_.events().shown().name == "away");
  WAIT_FOR(panel().track() && panel().track()->hits() > 20);
  picture("latency");
  const EventRows& lines = window_.table().rows();
  const auto latencies = [&] {
    static const QRegularExpression kLine(QStringLiteral("away: us=(\\d+),? common_pid=(\\d+),? ret=0$"));
    std::vector<int> found;
    for (int row = 0; row < lines.rowCount(); ++row)
      if (const auto line = kLine.match(lines.data(lines.index(row, 0), Qt::ToolTipRole).toString().trimmed());
          line.hasMatch())
        found.push_back(line.captured(1).toInt());
    return found;
  };
  WAIT_FOR(latencies().size() > 20);
  EXPECT_GE(std::ranges::min(latencies()), 2000);

  // A name that is taken is refused, and nothing stays of it.
  const auto triggers = [&](const QString& event) {
    const LiveEvent* found = window_.eventTree().eventAt(window_.eventTree().find("kprobes", event));
    return found ? found->trigger.count(QLatin1String("hist:")) : -1;
  };
  WAIT_FOR(triggers("waits") == 1 && triggers("waited") == 1);
  window_.events().select("kprobes", "waits");
  LatencyDialog* again = window_.askLatency();
  ASSERT_NE(again, nullptr);
  again->event(LatencyDialog::End).setCurrentText("kprobes:wrote");
  type(again->name(), "away");
  WAIT_FOR(again->applyButton().isEnabled() && again->filesText().contains("kprobes/wrote"));
  QTest::mouseClick(&again->applyButton(), Qt::LeftButton);
  WAIT_FOR(again->verdict().startsWith(QStringLiteral("⚠ synthetic_events: "))) << qPrintable(again->verdict());
  // Where a later file refuses, what was written before it is taken back.
  type(again->name(), "away_too");
  type(again->countedBy(), "nosuch");
  WAIT_FOR(again->applyButton().isEnabled() && again->filesText().contains("nosuch"));
  QTest::mouseClick(&again->applyButton(), Qt::LeftButton);
  WAIT_FOR(again->verdict().contains("away_too/trigger"));
  WAIT_FOR(!window_.eventTree().find("synthetic", "away_too").isValid() && triggers("waits") == 1 &&
           triggers("wrote") == 0);
  again->close();

  // One undo step takes all files back.
  window_.probes().undoStack().undo();
  WAIT_FOR(!window_.eventTree().find("synthetic", "away").isValid() && triggers("waits") == 0 &&
           triggers("waited") == 0);
}

}  // namespace kevt::gui
