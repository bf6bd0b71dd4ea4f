// The program as it is started: its command line, its end by a signal, and what is left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/events_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/tree_panel.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_tree.h"
#include "gui/model/session.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

constexpr char kLoop[] =
    "import time\nwhile True:\n open('/etc/passwd').close(); print('line', flush=True); time.sleep(0.002)";

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

class GuiProgram : public WindowTest {
 protected:
  void SetUp() override {
    if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
    gui_.setProcessChannelMode(QProcess::MergedChannels);
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("XDG_DATA_HOME", folder_.path());
    environment.remove("KEVTRACE_GUI_NO_AUTOSAVE");
    gui_.setProcessEnvironment(environment);
  }
  void TearDown() override {
    if (gui_.state() != QProcess::NotRunning) {
      gui_.kill();
      gui_.waitForFinished();
    }
    if (mount_pid_ > 0) ::kill(mount_pid_, SIGTERM);
    if (target_pid_ > 0) ::kill(target_pid_, SIGTERM);
    if (directory_.isEmpty()) return;
    EXPECT_TRUE(QTest::qWaitFor([&] { return !QFileInfo::exists(directory_ + "/events"); }, kPatienceMs));
    // What the killed window could not take away.
    if (const QFileInfo left(directory_); left.dir().dirName().startsWith("kevtrace-client-"))
      left.dir().removeRecursively();
  }
  void start(const QStringList& words) { gui_.start(QApplication::applicationDirPath() + "/kevtrace-gui", words); }
  // Until it has said where the recording lives.
  bool isRecording() {
    said_ += QString::fromUtf8(gui_.readAll());
    static const QRegularExpression kPlace("the recording is process (\\d+), its directory (\\S+)");
    const auto match = kPlace.match(said_);
    if (!match.hasMatch()) return false;
    mount_pid_ = match.captured(1).toInt();
    directory_ = match.captured(2);
    return true;
  }
  static QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  std::uint64_t hits() const {
    return read(directory_ + "/kprobe_profile").simplified().split(' ').value(1).toULongLong();
  }

  QProcess gui_;
  QString directory_;
  int mount_pid_ = 0, target_pid_ = 0;  // those that outlive the window
};

TEST_F(GuiProgram, KilledItLeavesTheRecordingThatAnotherWindowTakesUp) {
  start({"--apply", "-e", "p:opening libc:open64 path=+0(%di):string", "--", "/usr/bin/python3", "-S", "-c", kLoop});
  WAIT_FOR(isRecording());
  WAIT_FOR(hits() > 0);
  const QString last = folder_.path() + "/kevtrace-gui/last.kevs";
  WAIT_FOR(loadSession(last) && loadSession(last)->directory == directory_ && !loadSession(last)->owned.isEmpty());
  target_pid_ = loadSession(last)->pid;
  gui_.kill();
  ASSERT_TRUE(gui_.waitForFinished(kPatienceMs));
  // Nothing of it ended: neither the mount nor the program, whose output had gone to the window.
  const std::uint64_t before = hits();
  WAIT_FOR(hits() > before + 50);

  MainWindow window;
  window.show();
  const auto opened = window.openSession(last, MainWindow::Following::Follows);
  ASSERT_TRUE(opened) << opened.error().message();
  WAIT_FOR(window.document().view().rows() > 50);
  EXPECT_EQ(window.probes().editor().toPlainText(), "p:opening libc:open64 path=+0(%di):string");
  WAIT_FOR(window.probes().differenceText().startsWith("= p:kprobes/opening"));  // its own, and as it was
  EXPECT_TRUE(window.probes().owned().contains("kprobes/opening"));
  WAIT_FOR(window.eventTree().find("kprobes", "opening").isValid());
  EXPECT_EQ(window.eventTree().find("kprobes", "opening").siblingAtColumn(EventTree::Source).data().toString(),
            "probe, this window");

  // Its directory as files: what they read, and a line that is written and taken back.
  window.directoryFiles().showFile("events/kprobes/opening/enable");
  WAIT_FOR(window.directoryFiles().text().trimmed() == "1");
  window.events().select("kprobes", "opening");
  EventTree& tree = window.eventTree();
  tree.setData(tree.find("kprobes", "opening"), Qt::Unchecked, Qt::CheckStateRole);
  WAIT_FOR(!tree.eventAt(tree.find("kprobes", "opening"))->is_enabled);
  window.probes().undoStack().undo();
  WAIT_FOR(tree.eventAt(tree.find("kprobes", "opening"))->is_enabled);
}

TEST_F(GuiProgram, AttachesToAProcessAndLetsItGo) {
  QProcess target;
  target.setStandardOutputFile(QProcess::nullDevice());
  target.start("/usr/bin/python3", {"-S", "-c", kLoop});
  ASSERT_TRUE(target.waitForStarted(kPatienceMs));
  start({"--apply", "-e", "p:opening libc:open64 path=+0(%di):string", "--pid", QString::number(target.processId())});
  WAIT_FOR(isRecording());
  WAIT_FOR(hits() > 20);
  gui_.kill();
  ASSERT_TRUE(gui_.waitForFinished(kPatienceMs));
  ::kill(mount_pid_, SIGTERM);
  WAIT_FOR(!QFileInfo::exists(directory_ + "/events"));
  EXPECT_EQ(target.state(), QProcess::Running);
  target.kill();
  target.waitForFinished(kPatienceMs);
}

TEST_F(GuiProgram, ADirectoryThatIsThereIsOpenedAndAWrongOneRefused) {
  directory_ = folder_.path() + "/tracing";
  QProcess target, mount;
  target.setStandardOutputFile(QProcess::nullDevice());
  target.start("/usr/bin/python3", {"-S", "-c", kLoop});
  ASSERT_TRUE(target.waitForStarted(kPatienceMs));
  mount.start(TargetProcess::findKevtrace(), {"mount", directory_, "--pid", QString::number(target.processId())});
  WAIT_FOR(QFileInfo::exists(directory_ + "/events") || mount.state() == QProcess::NotRunning);
  ASSERT_EQ(mount.state(), QProcess::Running) << mount.readAllStandardError().toStdString();
  mount_pid_ = static_cast<int>(mount.processId());
  {
    MainWindow window;
    window.show();
    window.openDirectory(directory_, 0);
    window.probes().editor().replaceText("p:opening libc:open64 path=+0(%di):string");
    WAIT_FOR(window.probes().canApply());
    window.probes().apply();
    WAIT_FOR(window.document().view().rows() > 20);
  }
  start({"--tracefs", folder_.path()});
  ASSERT_TRUE(gui_.waitForFinished(kPatienceMs));
  EXPECT_EQ(gui_.exitCode(), 1);
  EXPECT_TRUE(gui_.readAll().contains("no tracing directory"));
  EXPECT_EQ(mount.state(), QProcess::Running);  // it was no window's
  ::kill(mount_pid_, SIGTERM);
  EXPECT_TRUE(mount.waitForFinished(kPatienceMs));
  target.kill();
  target.waitForFinished(kPatienceMs);
}

}  // namespace
}  // namespace kevt::gui
