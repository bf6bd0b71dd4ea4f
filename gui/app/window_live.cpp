// The live side of the window: targets, tracing directories, and what they say.
#include <QAction>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QStandardPaths>

#include "gui/app/events_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/model/event_tree.h"
#include "gui/model/live_state.h"
#include "gui/model/row_text.h"
#include "gui/model/session.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

void MainWindow::connectLive() {
  connect(target_.get(), &TargetProcess::mounted, this, &MainWindow::openDirectory);
  connect(target_.get(), &TargetProcess::said, this, [this](const QString& line) {
    if (line.startsWith(QLatin1String("kevtrace: error"))) problems_->add(tr("target"), line, {});
    if (line.contains(QLatin1String("has ended"))) document_->endLive();
  });
  connect(target_.get(), &TargetProcess::ended, this, [this](const QString& text) {
    service_->stop();
    document_->endLive();
    tree_->clear();
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
    problems_dock_->raise();
  });
  connect(service_.get(), &TracingService::failed, this, [this](const QString& text) {
    problems_->set(tr("directory"), text, tr("is the process behind it gone? --tracefs DIR takes it up again"));
  });
  connect(timeline_, &TimelineView::modeChanged, this, [this] { table_->setFollowing(timeline_->isFollowing()); });
}

void MainWindow::startTarget(const QStringList& command) {
  command_ = command;
  service_->stop();
  target_->startCommand(command);
}

void MainWindow::attachTo(const QList<int>& pids) {
  service_->stop();
  target_->attach(pids);
}

void MainWindow::openDirectory(const QString& directory, int pid) {
  const QString what = command_.isEmpty() ? directory : QFileInfo(command_.front()).fileName();
  setWindowTitle(tr("%1 — kevtrace").arg(what));
  document_->beginLive(pid ? QStringLiteral("%1 (%2)").arg(what).arg(pid) : what);
  table_->setFollowing(true);
  service_->start(directory, pid);
  if (pid) {
    probes_->editor().setProcess(pid);
    return;
  }
  service_->read(QStringLiteral("available_filter_functions"), [this](bool is_there, const QString& text) {
    if (is_there) probes_->editor().setKernelFunctions(text);
  });
}

void MainWindow::takeState(const LiveState& state) {
  tree_->take(state);
  probes_->takeState(state);
  events_->takeState(state);
  live_lost_ = state.lost;
  was_tracing_ = state.is_tracing;
  const QString last_error =
      state.error_log.section(QStringLiteral("error:"), -1).section(QLatin1Char('\n'), 0, 0).trimmed();
  problems_->set(tr("error_log"), last_error, tr("the last mistake the directory's own parser found"));
  problems_->set(tr("missed"),
                 tree_->missed()
                     ? tr("%1 hits had no return instance, or came within a handler").arg(grouped(tree_->missed()))
                     : QString(),
                 tr("write more instances: r16:NAME …"));
  problems_->set(tr("lost"), state.lost ? tr("%1 records found the buffer full").arg(grouped(state.lost)) : QString(),
                 tr("a larger buffer_size_kb, or a filter"));
  showState();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  if (qEnvironmentVariableIsEmpty("KEVTRACE_GUI_NO_AUTOSAVE") && !folder.isEmpty()) {
    QDir().mkpath(folder);
    (void)saveSession(session(), folder + QStringLiteral("/last.kevs"));
  }
  service_->stop();
  target_->finish();
  QMainWindow::closeEvent(event);
}

}  // namespace kevt::gui
