// What the window shows tells how far the user is: a target runs, a probe is applied, a record is selected.
#include "gui/app/guide.h"

#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <chrono>

#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/workspaces.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
const QString kProbe = QStringLiteral("p:open libc:open64 path=+0(%di):string");

}  // namespace

Guide::Guide(MainWindow& window) : QToolBar(tr("Guide"), &window), window_(window) {
  setObjectName(QStringLiteral("guide"));
  setMovable(false);
  text_ = new QLabel(this);
  text_->setTextFormat(Qt::PlainText);
  text_->setMargin(4);
  button_ = new QPushButton(this);
  addWidget(text_);
  addWidget(button_);
  QAction* close = addAction(tr("Close the guide"));
  connect(close, &QAction::triggered, this, [this] {
    looks_.stop();
    hide();
  });
  connect(button_, &QPushButton::clicked, this, [this] { act(); });
  connect(&looks_, &QTimer::timeout, this, [this] { look(); });
  looks_.setInterval(kLookEvery);
  connect(this, &QToolBar::visibilityChanged, this,
          [this](bool is_visible) { is_visible ? looks_.start() : looks_.stop(); });
}

QStringList Guide::demo() {
  return {QStringLiteral("/bin/sh"), QStringLiteral("-c"),
          QStringLiteral("while sleep 0.2; do read line < /etc/passwd; done")};
}

QString Guide::text() const { return text_->text(); }

void Guide::begin() {
  setVisible(true);
  show(Step::Start);
  look();
  looks_.start();
}

bool Guide::isWritten() const { return !window_.probes().editor().toPlainText().trimmed().isEmpty(); }

void Guide::show(Step step) {
  step_ = step;
  switch (step) {
    case Step::Start:
      text_->setText(tr("1 of 3: start a program. kevtrace traces it from its first instruction on."));
      button_->setText(tr("Start the demo"));
      break;
    case Step::Probe:
      text_->setText(isWritten()
                         ? tr("2 of 3: apply the line in the editor. Each call of the function becomes a record.")
                         : tr("2 of 3: write what you want to see: a function, and what to read there."));
      button_->setText(isWritten() ? tr("Apply it") : tr("Write it for me"));
      break;
    case Step::Look:
      text_->setText(tr("3 of 3: the timeline fills. Select a record there, or in the table, to see what it holds."));
      button_->setText(tr("Select one"));
      break;
    case Step::Done:
      text_->setText(tr("That is all it takes. Ctrl+Shift+P finds every command; Help, Keys has the keys."));
      button_->setText(tr("Stop the program"));
      break;
  }
  button_->setEnabled(step != Step::Done || window_.target().isRunning());
}

void Guide::look() {
  const bool is_live = window_.target().isRunning() || window_.service().isRunning();
  const bool has_probes = !window_.probes().owned().empty();
  const bool has_selected = window_.timeline().selectedRow().has_value();
  if (step_ == Step::Done || (is_live && has_probes && has_selected)) {
    if (!window_.target().isRunning()) looks_.stop();
    return show(Step::Done);
  }
  show(!is_live ? Step::Start : !has_probes ? Step::Probe : Step::Look);
}

void Guide::act() {
  switch (step_) {
    case Step::Start:
      window_.startTarget(demo());
      break;
    case Step::Probe:
      window_.workspaces().show(Workspace::Author);
      if (isWritten())
        window_.probes().apply();
      else
        window_.probes().editor().replaceText(kProbe);
      break;
    case Step::Look:
      window_.workspaces().show(Workspace::Live);
      if (const record::Row rows = window_.document().view().rows(); rows > 0) {
        window_.timeline().selectRow(rows - 1);
        window_.table().showRow(rows - 1);
      }
      break;
    case Step::Done:
      window_.stopTarget();
      break;
  }
  look();
}

}  // namespace kevt::gui
