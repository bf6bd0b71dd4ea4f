// The window on a kernel's own tracing directory. It writes there, so it runs in a guest only (tests/guest/gui).
#include <gtest/gtest.h>
#include <unistd.h>

#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/events_panel.h"
#include "gui/app/latency_dialog.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

constexpr int kPatienceMs = 120'000;  // an emulated machine
constexpr char kDirectory[] = "/sys/kernel/tracing";

// What is probed happens while it is waited for.
#define WAIT_FOR(condition)                               \
  ASSERT_TRUE(QTest::qWaitFor(                            \
      [&] {                                               \
        QFile("/etc/hostname").open(QIODevice::ReadOnly); \
        return (condition);                               \
      },                                                  \
      kPatienceMs))                                       \
      << #condition

class GuiKernel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    qputenv("KEVTRACE_GUI_NO_AUTOSAVE", "1");
    static int argc = 1;
    static char name[] = "gui_kernel_test";
    static char* argv[] = {name, nullptr};
    qputenv("QT_QPA_PLATFORM", "offscreen");
    if (!QApplication::instance()) new QApplication(argc, argv);
    applyTheme(ThemeChoice::Light);
  }
  void SetUp() override {
    if (qEnvironmentVariableIsEmpty("KEV_GUEST")) GTEST_SKIP() << "in a guest only: it writes to the kernel's tracefs";
  }
  static QByteArray read(const QString& path) {
    QFile file(kDirectory + QLatin1Char('/') + path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  static bool write(const QString& path, const QByteArray& text) {
    QFile file(kDirectory + QLatin1Char('/') + path);
    return file.open(QIODevice::Append | QIODevice::Unbuffered) && file.write(text) == text.size();
  }
};

TEST_F(GuiKernel, FromAMistakeToAMeasuredEvent) {
  ASSERT_TRUE(write("dynamic_events", "p:others/reading vfs_read\n"));  // another tool's
  MainWindow window;
  window.resize(1500, 940);
  window.show();
  window.openDirectory(kDirectory, 0);

  // A mistake, its fix, the difference, Apply.
  DefinitionEditor& editor = window.probes().editor();
  QTest::keyClicks(&editor, "p:opening do_sys_openat2 path=+0(%rsi):ustring");
  WAIT_FOR(editor.isChecked() && !editor.checked().mistakes.empty());
  EXPECT_EQ(editor.checked().mistakes[0].text, "Invalid register name");
  QTest::keyClick(&editor, Qt::Key_Escape);
  QTest::keyClick(&editor, Qt::Key_Return, Qt::AltModifier);
  QTest::keyClick(&editor, Qt::Key_End, Qt::ControlModifier);
  QTest::keyClick(&editor, Qt::Key_Return);
  QTest::keyClicks(&editor, "r:opened do_sys_openat2 fd=$retval:s32");
  QTest::keyClick(&editor, Qt::Key_Escape);
  ASSERT_EQ(editor.toPlainText(),
            "p:opening do_sys_openat2 path=+0(%si):ustring\nr:opened do_sys_openat2 fd=$retval:s32");
  WAIT_FOR(window.probes().canApply() && window.probes().differenceText().contains("others/reading"));
  EXPECT_TRUE(window.probes().differenceText().startsWith("+ p:opening"));
  window.probes().apply();
  WAIT_FOR(window.probes().owned().contains("kprobes/opened"));
  EXPECT_FALSE(window.problems().has("file")) << qPrintable(window.problems().topLevelItem(0)->text(1));

  // Hits rise, records arrive, as slices with the names of their functions.
  const auto event = [&](const QString& name) {
    return window.eventTree().eventAt(window.eventTree().find("kprobes", name));
  };
  WAIT_FOR(event("opening") && event("opening")->is_enabled && event("opening")->hits > 20);
  WAIT_FOR(window.document().view().rows() > 40);
  const EventRows& rows = window.table().rows();
  const auto has_line = [&](const char* text) {
    for (int row = 0; row < rows.rowCount(); ++row)
      if (rows.data(rows.index(row, 0), Qt::ToolTipRole).toString().contains(QLatin1String(text))) return true;
    return false;
  };
  const auto has_slice = [&] {
    const record::StoreView& view = window.document().view();
    for (record::Row row = 0; row < view.rows(); ++row)
      if (view.match(row) != record::kNoRow) return true;
    return false;
  };
  WAIT_FOR(has_line("path=\"/etc/hostname\""));
  WAIT_FOR(has_line("(do_sys_openat2+0x0/0x"));
  WAIT_FOR(has_slice());

  // A filter goes to the event's file, a switch too; both are taken back.
  window.events().select("kprobes", "opening");
  WAIT_FOR(window.events().formatText().contains("__data_loc char[] path"));
  window.events().tabs().setCurrentIndex(EventsPanel::Filter);
  const QString filter = QStringLiteral("common_pid == %1").arg(getpid());
  window.events().filterEdit().setText(filter);
  QTest::keyClick(&window.events().filterEdit(), Qt::Key_Return);
  WAIT_FOR(event("opening")->filter == filter);
  EXPECT_EQ(read("events/kprobes/opening/filter").trimmed(), filter.toUtf8());
  EventTree& tree = window.eventTree();
  tree.setData(tree.find("kprobes", "opened"), Qt::Unchecked, Qt::CheckStateRole);
  WAIT_FOR(!event("opened")->is_enabled);
  window.probes().undoStack().undo();
  WAIT_FOR(event("opened")->is_enabled);
  // The code of a kernel's event, and how it is armed.
  window.events().tabs().setCurrentIndex(EventsPanel::Code);
  WAIT_FOR(window.events().codePage().text().contains("BPF"));

  window.settle();
  QTemporaryDir folder;
  const QString png = qEnvironmentVariable("KEVT_GUI_SHOT", folder.filePath("kernel.png"));
  ASSERT_TRUE(saveScreenshot(window, png));
  EXPECT_GT(QFile(png).size(), 20'000);

  // Functions are completed from the directory's own list.
  QTest::keyClick(&editor, Qt::Key_End, Qt::ControlModifier);
  QTest::keyClick(&editor, Qt::Key_Return);
  QTest::keyClicks(&editor, "p:x vfs_rea");
  WAIT_FOR(!editor.isCompleting() && editor.suggestions().contains("vfs_readv"));
  QTest::keyClick(&editor, Qt::Key_Escape);

  // Undo takes away what was made here, and only that.
  while (window.probes().undoStack().canUndo()) window.probes().undoStack().undo();
  WAIT_FOR(!tree.find("kprobes", "opening").isValid());
  EXPECT_EQ(read("dynamic_events").trimmed(), "p:others/reading vfs_read");
  ASSERT_TRUE(write("dynamic_events", "-:others/reading\n"));
}

// The same kernel through `kevtrace mount --runtime bpf`, which the window starts and ends.
TEST_F(GuiKernel, ThroughTheBpfRuntime) {
  MainWindow window;
  window.resize(1500, 940);
  window.show();
  window.probes().editor().replaceText("p:opening do_sys_openat2 path=+0(%si):ustring");
  window.traceKernel("bpf", MainWindow::Start::Applies);
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  ASSERT_TRUE(window.service().isRunning());
  WAIT_FOR(window.document().view().rows() > 20);
  const EventRows& rows = window.table().rows();
  EXPECT_TRUE(rows.data(rows.index(0, 0), Qt::ToolTipRole).toString().contains("(do_sys_openat2+0x0/0x"))
      << qPrintable(rows.data(rows.index(0, 0), Qt::ToolTipRole).toString());
  EXPECT_FALSE(read("dynamic_events").contains("opening"));  // the kernel's own directory knows nothing of it
  window.target().stop();
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
}

// From a task's waking to its turn, by the kernel's own events, whose keys have different names.
TEST_F(GuiKernel, ALatencyOfTwoOfTheKernelsOwnEvents) {
  MainWindow window;
  window.resize(1500, 940);
  window.show();
  window.openDirectory(kDirectory, 0);
  WAIT_FOR(window.eventTree().find("sched", "sched_waking").isValid());
  const QPointer<LatencyDialog> dialog = window.askLatency();  // gone when what it asked for is written
  ASSERT_TRUE(dialog);
  dialog->event(LatencyDialog::Begin).setCurrentText("sched:sched_waking");
  dialog->event(LatencyDialog::End).setCurrentText("sched:sched_switch");
  const auto choose = [&](LatencyDialog::Side side, const char* key) {
    dialog->key(side).setCurrentIndex(dialog->key(side).findText(QLatin1String(key)));
    return dialog->key(side).currentText() == QLatin1String(key);
  };
  WAIT_FOR(choose(LatencyDialog::Begin, "pid") && choose(LatencyDialog::End, "next_pid"));
  dialog->name().selectAll();
  QTest::keyClicks(&dialog->name(), "wakeup");
  dialog->kept().setText("next_prio");
  ASSERT_TRUE(dialog->applyButton().isEnabled()) << qPrintable(dialog->verdict());
  QTest::mouseClick(&dialog->applyButton(), Qt::LeftButton);
  WAIT_FOR(window.events().shown().name == "wakeup" || (dialog && dialog->verdict().contains("synthetic")));
  EXPECT_TRUE(read("synthetic_events").contains("wakeup\tu64 us; pid_t next_pid; int next_prio"))
      << read("synthetic_events").constData() << read("error_log").constData();
  const auto hits = [] {
    static const QRegularExpression kHits(QStringLiteral("Hits: (\\d+)"));
    return kHits.match(QString::fromUtf8(read("events/synthetic/wakeup/hist"))).captured(1).toInt();
  };
  WAIT_FOR(hits() > 20);
  window.probes().undoStack().undo();
  WAIT_FOR(read("synthetic_events").isEmpty());
  EXPECT_FALSE(read("events/sched/sched_switch/trigger").contains("hist:"));
}

}  // namespace
}  // namespace kevt::gui
