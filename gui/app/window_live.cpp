// The live side of the window: targets, tracing directories, and what they say.
#include <QAction>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QMessageBox>
#include <QStandardPaths>
#include <QTimer>
#include <QToolButton>
#include <cstdio>
#include <utility>

#include "common/process_choice.h"
#include "gui/app/attach_dialog.h"
#include "gui/app/events_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/tree_panel.h"
#include "gui/app/workspaces.h"
#include "gui/model/compiler_service.h"
#include "gui/model/event_tree.h"
#include "gui/model/live_state.h"
#include "gui/model/row_text.h"
#include "gui/model/session.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/model/trigger_watch.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

void MainWindow::connectLive() {
  connect(target_.get(), &TargetProcess::mounted, this, &MainWindow::openDirectory);
  connect(target_.get(), &TargetProcess::said, this, [this](const QString& line) {
    if (line.startsWith(QLatin1String("kevtrace: error"))) problems_->add(tr("target"), line, {});
  });
  // The buffers still have its last records.
  connect(target_.get(), &TargetProcess::programsEnded, this, [this] {
    if (service_->directory() != target_->directory()) return;  // another directory is shown
    setFlightRecorder(false);
    service_->readOut([this] { document_->endLive(); });
  });
  connect(target_.get(), &TargetProcess::ended, this, [this](const QString& text) {
    if (opened_file_.isEmpty()) tree_->clear();
    service_->stop();
    document_->endLive();
    problems_->set(tr("target"), text, tr("what was recorded stays; start it again from the File menu"));
    showState();
  });
  connect(service_.get(), &TracingService::stateRead, this, &MainWindow::takeState);
  connect(service_.get(), &TracingService::recordsRead, document_.get(), &TraceDocument::showLive);
  connect(service_.get(), &TracingService::written, files_, &FilesPanel::add);
  connect(service_.get(), &TracingService::written, this, [this](const FileWrite& write) {
    if (write.error.isEmpty()) return;
    problems_->set(tr("file"), write.path + QStringLiteral(": ") + write.error,
                   tr("the directory's error_log says more; nothing behind it was written"));
    problems_dock_->show();
    problems_dock_->raise();
  });
  connect(service_.get(), &TracingService::failed, this, [this](const QString& text) {
    problems_->set(tr("directory"), text, tr("is the process behind it gone? --tracefs DIR takes it up again"));
  });
  connect(service_.get(), &TracingService::roomTold, this, [this](const QString& text) {
    problems_->set(tr("records"), text, tr("save what is there, then start the trace again"));
    problems_dock_->show();
    problems_dock_->raise();
  });
  connect(timeline_, &TimelineView::modeChanged, this, [this] { table_->setFollowing(timeline_->isFollowing()); });
}

// Ends the old trace, since another one is about to replace it.
void MainWindow::leaveLive() {
  service_->stop();
  document_->endLive();
  tree_->clear();
}

// `command` is empty for what runs already. Its tracer is to be started next.
void MainWindow::beginTarget(const QStringList& command, Start start) {
  command_ = command;
  applies_ = start == Start::Applies;
  workspaces_->propose(applies_ ? Workspace::Live : Workspace::Author);
  leaveLive();
}

void MainWindow::startTarget(const QStringList& command, Start start) {
  beginTarget(command, start);
  target_->startCommand(command);
  showState();
}

void MainWindow::traceKernel(const QString& runtime, Start start) {
  beginTarget({}, start);
  target_->startKernel(runtime);
  showState();
}

void MainWindow::askAttach() {
  AttachDialog dialog(this);
  if (dialog.exec() != QDialog::Accepted || dialog.chosen().isEmpty()) return;
  if (const proc::ProcessChoice choice = dialog.choice(); !choice.empty()) return attachTo(choice);
  attachTo(dialog.chosen());
}

void MainWindow::attachTo(const proc::ProcessChoice& choice, Start start) {
  beginTarget({}, start);
  target_->attach(choice);
  showState();
}

void MainWindow::attachTo(const QList<int>& pids, Start start) {
  beginTarget({}, start);
  target_->attach(pids);
  showState();
}

// Another trace replaces a live one. A program that was started here is ended; a process that was attached to goes on.
void MainWindow::endTarget() {
  if (!service_->isRunning() && !target_->isRunning()) return;
  service_->stop();
  target_->stop();
  tree_->clear();
  showState();
}

// First reads what the buffers have; a directory that does not answer does not block this.
void MainWindow::stopTarget() {
  constexpr int kPatienceMs = 3000;
  const auto stop = [this, pid = target_->mountPid()] {
    if (target_->isRunning() && target_->mountPid() == pid) target_->stop();
  };
  setFlightRecorder(false);
  if (!service_->isRunning()) return stop();
  service_->readOut(stop);
  QTimer::singleShot(kPatienceMs, this, stop);
}

// Restores the former option, since others may use the directory, too.
void MainWindow::setFlightRecorder(bool on) {
  if (on != keeps_newest_ && (on || !overwrote_)) {
    if (on) overwrote_ = overwrites_.value_or(true);
    service_->write({{QStringLiteral("options/overwrite"), on ? QStringLiteral("1") : QStringLiteral("0"), false, {}}},
                    {});
  }
  keeps_newest_ = on;
  flight_recorder_->setChecked(on);
  service_->setReading(!on);
  showState();
}

bool MainWindow::mayLeaveTarget() {
  if (!target_->isRunning()) return true;
  return QMessageBox::question(this, tr("A target is traced"),
                               tr("The recording of it ends, and so does a program that was started here.")) ==
         QMessageBox::Yes;
}

void MainWindow::openDirectory(const QString& directory, int pid) {
  opened_file_.clear();
  probes_->endRecording();
  const QString what = command_.isEmpty() ? directory : QFileInfo(command_.front()).fileName();
  setWindowTitle(tr("%1 — kevtrace").arg(what));
  document_->beginLive(pid ? QStringLiteral("%1 (%2)").arg(what).arg(pid) : what);
  table_->setFollowing(true);
  service_->start(directory, pid, document_->room());
  flight_recorder_->setChecked(false);
  keeps_newest_ = false;
  overwrites_.reset();
  pid_ = pid;
  directory_->open();
  if (target_->isRunning())
    std::fprintf(stderr, "kevtrace-gui: the recording is process %lld, its directory %s\n",
                 static_cast<long long>(target_->mountPid()), qUtf8Printable(directory));
  tellTarget(directory, pid);
  probes_->setWritesOut(pid == 0);
  if (pid) {
    // A process has no such event.
    const bool has_kernel = QFileInfo(directory + QStringLiteral("/events/sched/sched_switch")).isDir();
    compiler_->setSources({.pid = pid, .functions = {}, .kallsyms = {}, .btf = {}, .has_kernel_beside = has_kernel});
    return compiler_->files([this, directory, pid](const QMap<QString, QString>& files) {
      files_of_target_ = files;
      tellTarget(directory, pid);
    });
  }
  files_of_target_.clear();
  service_->read(QStringLiteral("available_filter_functions"), [this](bool is_there, const QString& text) {
    if (!is_there) return;
    const QString btf = QStringLiteral("/sys/kernel/btf/vmlinux");
    compiler_->setSources({.pid = 0,
                           .functions = text,
                           .kallsyms = QStringLiteral("/proc/kallsyms"),
                           .btf = QFileInfo(btf).isReadable() ? btf : QString(),
                           .blacklist = QStringLiteral("/sys/kernel/debug/kprobes/blacklist")});
  });
}

void MainWindow::useKernelFiles(const QString& kallsyms, const QString& btf) {
  compiler_->setSources({.pid = 0, .functions = {}, .kallsyms = kallsyms, .btf = btf});
}

void MainWindow::tellTarget(const QString& directory, int pid) {
  const WrittenTarget target{directory, command_, command_.isEmpty() ? pid : 0, files_of_target_};
  probes_->setTarget(target);
  events_->setTarget(target);
}

void MainWindow::takeState(const LiveState& state) {
  tree_->setOwned(probes_->owned());
  tree_->take(state);
  tree_->takeLast(document_->view());
  triggers_->take(state, document_->view());
  probes_->takeState(state);
  events_->takeState(state);
  if (tree_->find(QStringLiteral("synthetic"), wanted_event_).isValid())
    events_->select(QStringLiteral("synthetic"), std::exchange(wanted_event_, {}));
  if (applies_ && probes_->canApply()) {
    applies_ = false;
    probes_->apply();
  }
  live_lost_ = state.lost;
  overwrites_ = state.overwrites;
  QString buffer =
      tr("%1 KiB a CPU · %2").arg(grouped(state.buffer_kb), state.overwrites ? tr("keeps newest") : tr("keeps oldest"));
  if (state.clock != QLatin1String("local")) buffer += QStringLiteral(" · ") + state.clock;
  buffer_->setText(buffer);
  buffer_->setToolTip(tr("%1 KiB for each CPU; when it is full %2; times are of the clock %3. Press to change the size")
                          .arg(grouped(state.buffer_kb),
                               state.overwrites ? tr("the oldest records are overwritten") : tr("new ones are lost"),
                               state.clock));
  autosave();
  was_tracing_ = state.is_tracing;
  problems_->set(tr("error_log"), lastMistake(state.error_log),
                 tr("the last mistake the directory's own parser found"));
  QStringList missed;
  for (const LiveEvent& event : state.events)
    if (event.missed) missed.append(QStringLiteral("%1: %2").arg(event.name, grouped(event.missed)));
  problems_->set(tr("missed"),
                 missed.isEmpty() ? QString() : tr("hits without a record: %1").arg(missed.join(QStringLiteral(", "))),
                 tr("no return instance was free, or the hit came within a handler; r16:NAME … makes room for 16"));
  problems_->set(
      tr("lost"),
      state.lost ? tr("%1 records found the buffer full: %2").arg(grouped(state.lost), state.lost_where) : QString(),
      tr("buffer_size_kb is %1: make it larger (Probes menu), or filter").arg(state.buffer_kb));
  showState();
}

// Saves the session at intervals: after a crash --last restores it, with the directory that may still record.
void MainWindow::autosave() {
  constexpr qint64 kEveryMs = 5000;
  if (since_saved_.isValid() && since_saved_.elapsed() < kEveryMs) return;
  since_saved_.start();
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  if (!qEnvironmentVariableIsEmpty("KEVTRACE_GUI_NO_AUTOSAVE") || folder.isEmpty()) return;
  QDir().mkpath(folder);
  (void)saveSession(session(), folder + QStringLiteral("/last.kevs"));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  since_saved_.invalidate();
  autosave();
  service_->stop();
  target_->finish();
  QMainWindow::closeEvent(event);
}

}  // namespace kevt::gui
