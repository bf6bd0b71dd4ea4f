// The window's actions, menus, and the bar with the state of the recording.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileDialog>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QProcess>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

#include "gui/app/command_palette.h"
#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/help_menu.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/search_bar.h"
#include "gui/app/tree_panel.h"
#include "gui/app/workspaces.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/row_text.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

QAction* MainWindow::add(QMenu* menu, const QString& text, const QKeySequence& key, const std::function<void()>& run) {
  auto* action = new QAction(text, this);
  action->setShortcut(key);
  connect(action, &QAction::triggered, this, run);
  menu->addAction(action);
  addAction(action);
  return action;
}

void MainWindow::makeActions() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  add(file, tr("&Open recording …"), QKeySequence::Open, [this] {
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open a recording"), {}, tr("Recordings (*.dat);;All files (*)"));
    if (!path.isEmpty() && mayLeaveTarget()) openTrace(path);
  });
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { showRecent(*recent); });
  add(file, tr("&Save the trace …"), QKeySequence::Save, [this] {
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save the trace"), {}, tr("Recordings (*.dat);;All files (*)"));
    if (!path.isEmpty()) report(saveTrace(path));
  });
  add(file, tr("&Export selected records …"), QKeySequence(tr("Ctrl+E")), [this] { askExport(); });
  add(file, tr("&Compare with an earlier recording …"), QKeySequence(tr("Ctrl+Shift+D")), [this] { askCompare(); });
  add(file, tr("Show another recording &beside this one …"), QKeySequence(tr("Ctrl+Shift+O")), [this] { askBeside(); });
  file->addSeparator();
  add(file, tr("S&tart a target …"), QKeySequence(tr("Ctrl+R")), [this] {
    bool ok = false;
    const QString text = QInputDialog::getText(this, tr("Start a target"), tr("Program and arguments"),
                                               QLineEdit::Normal, command_.join(QLatin1Char(' ')), &ok);
    if (ok && !text.trimmed().isEmpty()) startTarget(QProcess::splitCommand(text));
  });
  add(file, tr("&Attach to a process …"), QKeySequence(tr("Ctrl+Shift+A")), [this] { askAttach(); });
  QAction* follow = add(file, tr("Trace also the &programs that it starts"), {}, [] {});
  follow->setCheckable(true);
  follow->setToolTip(tr("of the next target that is started or attached to"));
  connect(follow, &QAction::toggled, this, [this](bool on) { target_->setFollowing(on); });
  connect(file, &QMenu::aboutToShow, follow, [this, follow] { follow->setChecked(target_->isFollowing()); });
  QAction* beside = add(file, tr("Trace also the running &kernel"), {}, [] {});
  beside->setCheckable(true);
  beside->setToolTip(tr("beside the next target: a place with a file is the program's, a function alone the kernel's"));
  connect(beside, &QAction::toggled, this,
          [this](bool on) { target_->setWithKernel(on ? QStringLiteral("auto") : QString()); });
  connect(file, &QMenu::aboutToShow, beside, [this, beside] { beside->setChecked(!target_->withKernel().isEmpty()); });
  add(file, tr("Trace the kernel through BPF"), {}, [this] { traceKernel(QStringLiteral("bpf")); });
  add(file, tr("Trace the kernel through kevtrace.ko"), {}, [this] { traceKernel(QStringLiteral("kmod")); });
  add(file, tr("Open a tracing &directory …"), {}, [this] {
    const QString path =
        QFileDialog::getExistingDirectory(this, tr("Open a tracing directory"), QStringLiteral("/sys/kernel/tracing"));
    if (!path.isEmpty()) openDirectory(path, 0);
  });
  liveOnly(Needs::Target, add(file, tr("Stop the target"), {}, [this] { stopTarget(); }));
  file->addSeparator();
  add(file, tr("Open session …"), {}, [this] {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a session"), {}, tr("Sessions (*.kevs *.kevb)"));
    if (!path.isEmpty() && mayLeaveTarget()) report(openSession(path));
  });
  add(file, tr("Save session …"), QKeySequence(tr("Ctrl+Shift+S")), [this] {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save the session"), {},
                                                      tr("Session (*.kevs);;Session with its recording (*.kevb)"));
    if (!path.isEmpty()) report(writeSession(path));
  });
  file->addSeparator();
  add(file, tr("&Memory for records …"), {}, [this] { askMemory(); });
  add(file, tr("&Quit"), QKeySequence::Quit, [this] { close(); });

  QMenu* probes = menuBar()->addMenu(tr("&Probes"));
  liveOnly(Needs::Directory,
           add(probes, tr("Apply the definitions"), QKeySequence(tr("Ctrl+Return")), [this] { probes_->apply(); }));
  add(probes, tr("Fix the mistake at the cursor"), {}, [this] { probes_->editor().applyFix(); });
  QAction* undo = probes_->undoStack().createUndoAction(this, tr("Undo:"));
  QAction* redo = probes_->undoStack().createRedoAction(this, tr("Redo:"));
  undo->setShortcut(QKeySequence(tr("Ctrl+Alt+Z")));
  redo->setShortcut(QKeySequence(tr("Ctrl+Alt+Shift+Z")));
  for (QAction* action : {undo, redo}) {
    probes->addAction(action);
    addAction(action);
  }
  add(probes, tr("Write the line without names of types"), {}, [this] { probes_->editor().writeOut(); });
  liveOnly(Needs::Directory, add(probes, tr("&Latency between two events …"), QKeySequence(tr("Ctrl+Shift+L")),
                                 [this] { askLatency(); }));
  probes->addSeparator();
  liveOnly(Needs::Directory, add(probes, tr("Take a snapshot"), {}, [this] {
             service_->write({{QStringLiteral("snapshot"), QStringLiteral("1"), false, {}}}, {});
           }));
  liveOnly(Needs::Directory, add(probes, tr("Size of the buffer …"), {}, [this] { askBuffer(); }));
  liveOnly(Needs::Directory, add(probes, tr("Take the definitions of the directory into the editor"), {}, [this] {
             service_->read(QStringLiteral("dynamic_events"), [this](bool is_there, const QString& text) {
               if (is_there) probes_->editor().replaceText(text);
             });
           }));

  makeTimelineActions(menuBar()->addMenu(tr("&Timeline")));

  QMenu* show = menuBar()->addMenu(tr("&View"));
  add(show, tr("Find in the records"), QKeySequence::Find, [this] { search_->open(); });
  add(show, tr("Find the next hit"), QKeySequence(tr("F3")), [this] { search_->step(1); });
  add(show, tr("Find the previous hit"), QKeySequence(tr("Shift+F3")), [this] { search_->step(-1); });
  add(show, tr("Keep the hits as a lane"), QKeySequence(tr("Ctrl+Shift+F")), [this] { keepHits(); });
  add(show, tr("Filter the records"), QKeySequence(tr("Ctrl+L")), [this] { filter_->edit().setFocus(); });
  show->addSeparator();
  const auto focus = [&](const QString& text, const QString& key, auto widget) {
    add(show, text, QKeySequence(key), [widget] {
      for (QWidget* parent = widget(); parent; parent = parent->parentWidget())
        if (auto* dock = qobject_cast<QDockWidget*>(parent)) {
          dock->show();
          dock->raise();
        }
      widget()->setFocus();
    });
  };
  focus(tr("Go to the editor"), tr("Ctrl+1"), [this]() -> QWidget* { return &probes_->editor(); });
  focus(tr("Go to the events"), tr("Ctrl+2"), [this]() -> QWidget* { return &events_->view(); });
  focus(tr("Go to the timeline"), tr("Ctrl+3"), [this]() -> QWidget* { return timeline_; });
  focus(tr("Go to the table"), tr("Ctrl+4"), [this]() -> QWidget* { return table_; });
  focus(tr("Go to the problems"), tr("Ctrl+5"), [this]() -> QWidget* { return problems_; });
  focus(tr("Go to the directory's files"), tr("Ctrl+6"), [this]() -> QWidget* { return &directory_->tree(); });
  show->addSeparator();
  add(show, tr("Commands …"), QKeySequence(tr("Ctrl+Shift+P")), [this] {
    CommandPalette palette(actions(), this);
    palette.exec();
  });
  add(show, tr("Light colours"), {}, [this] { applyTheme(ThemeChoice::Light), theme_ = QStringLiteral("light"); });
  add(show, tr("Dark colours"), {}, [this] { applyTheme(ThemeChoice::Dark), theme_ = QStringLiteral("dark"); });
  show->addSeparator();
  add(show, tr("Arrange this workspace as at first"), {}, [this] { workspaces_->reset(); });
  addHelpMenu(*this);
  for (QDockWidget* dock : findChildren<QDockWidget*>()) show->addAction(dock->toggleViewAction());
  for (QMenu* menu : menuBar()->findChildren<QMenu*>()) menu->setToolTipsVisible(true);
}

void MainWindow::makeTimelineActions(QMenu* go) {
  add(go, tr("Show everything"), QKeySequence(tr("Ctrl+0")), [this] { timeline_->zoomToAll(); });
  add(go, tr("Zoom to the selection"), {}, [this] { timeline_->zoomToSelection(); });
  add(go, tr("Zoom in"), QKeySequence::ZoomIn, [this] { timeline_->zoomBy(1.5, timeline_->width() / 2.0); });
  add(go, tr("Zoom out"), QKeySequence::ZoomOut, [this] { timeline_->zoomBy(1 / 1.5, timeline_->width() / 2.0); });
  add(go, tr("Zoom back"), QKeySequence(tr("Alt+Left")), [this] { timeline_->zoomBack(); });
  add(go, tr("Zoom forward"), QKeySequence(tr("Alt+Right")), [this] { timeline_->zoomForward(); });
  QAction* go_to = add(go, tr("Go to a time …"), QKeySequence(tr("Ctrl+G")), [this] {
    bool ok = false;
    const QString text =
        QInputDialog::getText(this, tr("Go to a time"),
                              tr("Seconds as printed (5070.441498), behind the start (+0.5), or by the wall "
                                 "clock (12:00:01.44)"),
                              QLineEdit::Normal, {}, &ok);
    if (!ok || text.trimmed().isEmpty()) return;
    if (const auto ns = parseTime(text, timeline_->origin())) return timeline_->reveal(*ns);
    statusBar()->showMessage(timeline_->origin().wall_offset_ns
                                 ? tr("no time: %1").arg(text)
                                 : tr("no time (the wall clock is not known): %1").arg(text));
  });
  connect(timeline_, &TimelineView::timeWanted, go_to, &QAction::trigger);
  add(go, tr("Previous record of the lane"), {}, [this] { timeline_->stepInLane(-1); });
  add(go, tr("Next record of the lane"), {}, [this] { timeline_->stepInLane(1); });
  add(go, tr("Set a marker at the selected record"), {}, [this] {
    if (timeline_->selectedRow()) timeline_->addMarker(timeline_->view().time_ns(*timeline_->selectedRow()));
  });
  add(go, tr("Move the other recording: its selected record to the last marker"), {}, [this] { report(moveBeside()); });
  add(go, tr("Remove all markers"), {}, [this] { timeline_->setMarkers({}); });
  makeLookActions(go);
  // Space in the timeline; Ctrl+Space is the editor's.
  liveOnly(Needs::Growth, add(go, tr("Freeze the picture"), QKeySequence(tr("Ctrl+Shift+Space")),
                              [this] { timeline_->setFrozen(!timeline_->isFrozen()); }));
  liveOnly(Needs::Growth,
           add(go, tr("Follow the end"), QKeySequence(tr("Ctrl+End")), [this] { timeline_->setFollowing(true); }));
}

QAction* MainWindow::liveOnly(Needs needs, QAction* action, const QString& tip) {
  live_only_.push_back({needs, action, tip});
  return action;
}

void MainWindow::showLiveOnly() {
  const QString why = !opened_file_.isEmpty() ? tr("a recording is shown, and it does not change")
                      : document_->view().empty()
                          ? tr("nothing is traced: start a target or open a tracing directory")
                          : tr("what was traced has ended: start a target or open a tracing directory");
  for (const LiveOnly& one : live_only_) {
    bool is_there = service_->isRunning();
    if (one.needs == Needs::Growth) is_there = document_->state() == TraceDocument::State::Live;
    if (one.needs == Needs::Target) is_there |= target_->isRunning();
    one.action->setEnabled(is_there);
    one.action->setToolTip(is_there ? one.tip : why);
  }
}

void MainWindow::makeStateBar() {
  auto* bar = new QToolBar(tr("State"), this);
  bar->setObjectName(QStringLiteral("state"));
  bar->setMovable(false);
  state_ = new QLabel(bar);
  rate_ = new QLabel(bar);
  lost_ = new QToolButton(bar);
  lost_->setAutoRaise(true);
  for (QLabel* label : {state_, rate_}) label->setTextFormat(Qt::PlainText);
  state_->setMargin(6);
  rate_->setMargin(6);
  buffer_ = new QToolButton(bar);
  buffer_->setAutoRaise(true);
  buffer_->setToolTip(tr("buffer, what happens when it is full, clock: press to change the size"));
  connect(buffer_, &QToolButton::clicked, this, &MainWindow::askBuffer);
  workspaces_->addButtons(*bar);
  bar->addSeparator();
  bar->addWidget(state_);
  bar->addSeparator();
  bar->addWidget(rate_);
  bar->addSeparator();
  bar->addWidget(lost_);
  bar->addSeparator();
  buffer_place_ = bar->addWidget(buffer_);
  auto* room = new QWidget(bar);
  room->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(room);
  tracing_ = bar->addAction(tr("Tracing"));
  tracing_->setCheckable(true);
  liveOnly(Needs::Directory, tracing_, tr("the file tracing_on"));
  connect(tracing_, &QAction::triggered, this, [this](bool on) {
    service_->write({{QStringLiteral("tracing_on"), on ? QStringLiteral("1") : QStringLiteral("0"), false, {}}}, {});
  });
  flight_recorder_ = bar->addAction(tr("Flight recorder"));
  flight_recorder_->setCheckable(true);
  liveOnly(Needs::Directory, flight_recorder_,
           tr("the buffers are not read and keep the newest records alone (options/overwrite); they are shown when "
              "this is switched off, or what is traced ends"));
  connect(flight_recorder_, &QAction::triggered, this, &MainWindow::setFlightRecorder);
  QAction* snapshot = bar->addAction(tr("Snapshot"));
  liveOnly(Needs::Directory, snapshot, tr("keep what the buffer holds now: the file snapshot"));
  connect(snapshot, &QAction::triggered, this, [this] {
    service_->write({{QStringLiteral("snapshot"), QStringLiteral("1"), false, {}}}, {});
  });
  QAction* stop = bar->addAction(tr("Stop"));
  liveOnly(Needs::Target, stop, tr("take every probe out of the target and end the recording"));
  connect(stop, &QAction::triggered, this, &MainWindow::stopTarget);
  QAction* freeze = bar->addAction(tr("Freeze"));
  freeze->setCheckable(true);
  liveOnly(Needs::Growth, freeze, tr("the picture stays as it is while records go on arriving (Space)"));
  connect(freeze, &QAction::triggered, timeline_, &TimelineView::setFrozen);
  QAction* follow = bar->addAction(tr("Follow"));
  follow->setCheckable(true);
  liveOnly(Needs::Growth, follow, tr("the timeline stays at the end (End)"));
  connect(follow, &QAction::triggered, timeline_, &TimelineView::setFollowing);
  connect(timeline_, &TimelineView::modeChanged, this, [this, freeze, follow] {
    freeze->setChecked(timeline_->isFrozen());
    follow->setChecked(timeline_->isFollowing());
  });
  connect(lost_, &QToolButton::clicked, this, [this] {
    problems_dock_->show();
    problems_dock_->raise();
  });
  addToolBar(bar);
}

void MainWindow::showState() {
  const record::StoreView& view = document_->view();
  switch (document_->state()) {
    case TraceDocument::State::Empty:
      state_->setText(tr("○ nothing open"));
      break;
    case TraceDocument::State::Loading:
      state_->setText(tr("◔ loading %1").arg(document_->path()));
      break;
    case TraceDocument::State::Loaded:
      state_->setText(tr("■ %1").arg(document_->path()));
      break;
    case TraceDocument::State::Live:
      state_->setText(flight_recorder_->isChecked() ? tr("● keeping the newest of %1").arg(document_->path())
                                                    : tr("● recording %1").arg(document_->path()));
      break;
  }
  const double seconds = view.empty() ? 0 : static_cast<double>(view.last_ns() - view.first_ns()) / 1e9;
  const QString rate = compactNumber(seconds > 0 ? view.rows() / seconds : 0);
  rate_->setText(
      rows_->kept() ? tr("%1 of %2 records shown, %3/s").arg(grouped(rows_->kept()->size()), grouped(view.rows()), rate)
                    : tr("%1 records, %2/s").arg(grouped(view.rows()), rate));
  const bool is_live = service_->isRunning();
  std::uint64_t lost = is_live ? live_lost_ : 0;
  std::uint64_t missed = is_live ? tree_->missed() : 0;
  if (!is_live) {
    for (const record::StoreGap& gap : view.names().gaps) lost += gap.count == ~0ull ? 1 : gap.count;
    for (const record::EventTotals& totals : document_->metadata()->totals) missed += totals.missed;
  }
  buffer_place_->setVisible(is_live);
  showLiveOnly();
  tracing_->setChecked(is_live && was_tracing_);
  lost_->setText(tr("%1 lost %2   missed %3")
                     .arg(lost + missed ? QStringLiteral("⚠") : QStringLiteral("✓"), grouped(lost), grouped(missed)));
  QPalette colors = palette();
  if (lost + missed) colors.setColor(QPalette::ButtonText, LaneColors(palette()).gap);
  lost_->setPalette(colors);
}

void MainWindow::askBuffer() {
  bool ok = false;
  const int kib =
      QInputDialog::getInt(this, tr("Size of the buffer"), tr("KiB for each CPU"), 4096, 4, 1 << 22, 1024, &ok);
  if (ok) service_->write({{QStringLiteral("buffer_size_kb"), QString::number(kib), false, {}}}, {});
}

}  // namespace kevt::gui
