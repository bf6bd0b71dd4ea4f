// The form for a latency of two events, and the writes that it asks for.
#include <QPointer>
#include <QUndoStack>
#include <algorithm>
#include <utility>

#include "gui/app/events_panel.h"
#include "gui/app/latency_dialog.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/write_command.h"
#include "gui/model/event_tree.h"
#include "gui/model/live_state.h"
#include "gui/model/tracing_service.h"

namespace kevt::gui {

LatencyDialog* MainWindow::askLatency() {
  if (!service_->isRunning()) return nullptr;
  const ShownEvent& shown = events_->shown();
  auto* dialog = new LatencyDialog(*service_, tree_->names(), shown.system + QLatin1Char(':') + shown.name, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &LatencyDialog::applyWanted, this, [this, dialog = QPointer(dialog)](const LatencyEvent& latency) {
    makeLatency(latency, [dialog](const QString& error) {
      if (dialog) dialog->takeResult(error);
    });
  });
  dialog->open();
  return dialog;
}

// One undo step for all files, or none: where a file refuses, what was written before it is taken back. The error_log
// is read before and behind, since only what it has got meanwhile says why.
void MainWindow::makeLatency(const LatencyEvent& latency, std::function<void(const QString& error)> done) {
  const QString log = QStringLiteral("error_log");
  service_->read(log, [this, log, latency, done = std::move(done)](bool, const QString& before) {
    service_->write(writesOf(latency), [this, log, latency, done, before](const std::vector<FileWrite>& made) {
      const auto refused = std::ranges::find_if(made, [](const FileWrite& one) { return !one.error.isEmpty(); });
      if (refused != made.end()) {
        service_->read(log, [done, before, one = *refused](bool is_there, const QString& now) {
          done(one.path + QStringLiteral(": ") + (is_there && now != before ? lastMistake(now) : one.error));
        });
        return service_->write(writesBack(latency, static_cast<std::size_t>(refused - made.begin())), {});
      }
      probes_->undoStack().push(new WriteCommand(*service_, writesOf(latency), writesBack(latency, made.size()),
                                                 tr("latency %1").arg(latency.name), {}, WriteCommand::Made::Already));
      wanted_event_ = latency.name;
      service_->refresh();
      done({});
    });
  });
}

}  // namespace kevt::gui
