// The main window: only connects the parts to each other.
//
// Timeline and table show one selection: a row chosen in either is shown in the other. Probes, events and files use the
// tracing directory through one service, whose answers come back through takeState().
#include "gui/app/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QLabel>
#include <QMimeData>
#include <QSplitter>
#include <QTemporaryDir>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/flame_panel.h"
#include "gui/app/histogram_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/search_bar.h"
#include "gui/app/tree_panel.h"
#include "gui/app/workspaces.h"
#include "gui/model/compiler_service.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/fleet_source.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/model/trigger_watch.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/fleet_strip.h"
#include "gui/view/timeline_view.h"
#include "gui/view/wait_for_events.h"
#include "tracefs-compat/fleet/address.h"

namespace kevt::gui {

MainWindow::MainWindow()
    : document_(std::make_unique<TraceDocument>()),
      service_(std::make_unique<TracingService>()),
      target_(std::make_unique<TargetProcess>()),
      compiler_(std::make_unique<CompilerService>()),
      triggers_(std::make_unique<TriggerWatch>()),
      jobs_(this, 1) {
  setWindowTitle(tr("kevtrace"));
  setDockOptions(AllowTabbedDocks | AllowNestedDocks);
  setAcceptDrops(true);
  rows_ = new EventRows(*document_, this);
  tree_ = new EventTree(this);
  makeCentre();
  makeDocks();
  makeStateBar();
  makeActions();
  connectLive();
  connectHistograms();
  connectFleet();
  connect(document_.get(), &TraceDocument::stateChanged, this, &MainWindow::showState);
  connect(document_.get(), &TraceDocument::viewChanged, this, &MainWindow::showState);
  connect(document_.get(), &TraceDocument::problemFound, this,
          [this](const QString& text) { problems_->add(tr("recording"), text, tr("what could be read is shown")); });
  connect(rows_, &EventRows::keptChanged, this, [this] {
    timeline_->setKept(rows_->kept());
    measure_->setKept(rows_->kept());
    flame_->setKept(rows_->kept());
    showState();
  });
  connect(timeline_, &TimelineView::rowSelected, table_, &EventTable::showRow);
  connect(timeline_, &TimelineView::rowSelected, search_, &SearchBar::setCurrent);
  connect(table_, &EventTable::rowSelected, search_, &SearchBar::setCurrent);
  connect(search_, &SearchBar::rowWanted, this, [this](record::Row row) {
    timeline_->selectRow(row);
    table_->showRow(row);
  });
  connect(search_, &SearchBar::closed, table_, qOverload<>(&QWidget::setFocus));
  connect(&search_->search(), &RecordSearch::hitsChanged, this, [this] {
    const std::vector<record::Row>& hits = search_->search().hits();
    table_->setMarks(hits);
    std::vector<std::uint64_t> times;
    // One mark per pixel of the mini-map is enough, however many hits are in it.
    constexpr std::size_t kMost = 4000;
    for (std::size_t i = 0; i < hits.size(); i += std::max<std::size_t>(1, hits.size() / kMost))
      times.push_back(document_->view().time_ns(hits[i]));
    timeline_->setMarks(std::move(times));
  });
  connect(table_, &EventTable::rowSelected, timeline_, &TimelineView::selectRow);
  connect(document_.get(), &TraceDocument::stateChanged, this, [this] {
    if (document_->state() == TraceDocument::State::Loaded) events_->takeRecording();
    takeDocument();
  });
  connect(events_, &EventsPanel::plotWanted, this, &MainWindow::plot);
  connect(compiler_.get(), &CompilerService::troubleFound, this, [this](const QString& text) {
    problems_->set(tr("types"), text,
                   tr("names are completed as far as they are known; --btf and --kallsyms name files"));
  });
  connect(timeline_, &TimelineView::eventDropped, this, &MainWindow::takeEvent);
  connect(document_.get(), &TraceDocument::reset, this, [this] {
    latency_from_ = record::kNoRow;
    triggers_->clear();
  });
  connect(triggers_.get(), &TriggerWatch::firingsChanged, this, &MainWindow::showFlags);
  connect(document_.get(), &TraceDocument::stateChanged, this, &MainWindow::showFlags);
  connect(timeline_, &TimelineView::laneMenuWanted, this, &MainWindow::laneMenu);
  connect(table_, &EventTable::cellMenuWanted, this, &MainWindow::cellMenu);
  showState();
}

MainWindow::~MainWindow() {
  service_->stop();  // before the panels that get its answers
  compiler_->withdraw();
}

void MainWindow::makeCentre() {
  centre_ = new QSplitter(Qt::Vertical, this);
  auto* upper = new QWidget(centre_);
  auto* above = new QVBoxLayout(upper);
  above->setContentsMargins(0, 0, 0, 0);
  above->setSpacing(0);
  fleet_ = new FleetSource(this);
  strip_ = new FleetStrip(*fleet_, upper);
  strip_->hide();
  timeline_ = new TimelineView(*document_, upper);
  above->addWidget(strip_);
  above->addWidget(timeline_, 1);
  auto* lower = new QWidget(centre_);
  auto* layout = new QVBoxLayout(lower);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  filter_ = new FilterBar(*rows_, lower);
  table_ = new EventTable(*rows_, lower);
  search_ = new SearchBar(*document_, *rows_, lower);
  layout->addWidget(filter_);
  layout->addWidget(search_);
  layout->addWidget(table_, 1);
  centre_->setStretchFactor(0, 3);
  centre_->setStretchFactor(1, 2);
  centre_->setChildrenCollapsible(false);
  setCentralWidget(centre_);
}

QDockWidget* MainWindow::addDock(const QString& title, const QString& name, QWidget* widget) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(widget);
  addDockWidget(Qt::BottomDockWidgetArea, dock);
  return dock;
}

void MainWindow::makeDocks() {
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  probes_ = new ProbesPanel(*service_, *compiler_, *tree_);
  events_ = new EventsPanel({*service_, *compiler_, *tree_, *document_, probes_->undoStack()});
  measure_ = new MeasurePanel(*document_, *timeline_);
  flame_ = new FlamePanel(*document_, *timeline_);
  connect(flame_, &FlamePanel::notWhole, this,
          [this](const QString& why) { report(std::unexpected(Error(why.toStdString()))); });
  histograms_ = new HistogramPanel(*service_, *document_);
  problems_ = new ProblemsPanel;
  files_ = new FilesPanel;
  addDock(tr("Probes"), QStringLiteral("probes"), probes_);
  addDock(tr("Events"), QStringLiteral("events"), events_);
  addDock(tr("Measure"), QStringLiteral("measure"), measure_);
  addDock(tr("Flame graph"), QStringLiteral("flame"), flame_);
  addDock(tr("Histogram"), QStringLiteral("histogram"), histograms_);
  problems_dock_ = addDock(tr("Problems"), QStringLiteral("problems"), problems_);
  addDock(tr("Files written"), QStringLiteral("files"), files_);
  directory_ = new TreePanel(*service_, probes_->undoStack());
  addDock(tr("Directory"), QStringLiteral("directory"), directory_);
  workspaces_ = new Workspaces(*this, *centre_);
  connect(probes_, &ProbesPanel::mistakesChanged, this,
          [this] { problems_->showMistakes(probes_->editor().checked()); });
  connect(problems_, &ProblemsPanel::lineWanted, this, [this](int line, int column) {
    probes_->editor().goTo(line, column);
    probes_->editor().setFocus();
  });
}

void MainWindow::connectHistograms() {
  connect(events_, &EventsPanel::eventShown, histograms_, &HistogramPanel::setEvent);
  connect(histograms_, &HistogramPanel::triggerWanted, events_, &EventsPanel::writeTrigger);
  connect(histograms_, &HistogramPanel::latencyWanted, this, [this] { askLatency(); });
  connect(histograms_, &HistogramPanel::shownWanted, filter_, &FilterBar::setText);
  connect(histograms_, &HistogramPanel::recordedWanted, events_, &EventsPanel::proposeFilter);
}

// A database is shown in parts: the strip says which, and chooses another.
void MainWindow::connectFleet() {
  const auto takePart = [this] {
    if (fleet_->isOpen()) strip_->setShown(document_->part(), document_->view());
  };
  connect(document_.get(), &TraceDocument::viewChanged, strip_, takePart);
  connect(document_.get(), &TraceDocument::reset, strip_, [this] {
    const bool is_fleet = fleet::is_address(document_->path().toStdString());
    if (!is_fleet && fleet_->isOpen()) fleet_->open({});
    strip_->setVisible(is_fleet);
  });
  connect(strip_, &FleetStrip::partWanted, this,
          [this](const fleet::TimeSpan& part) { document_->openPart(document_->path(), part); });
}

void MainWindow::settle() {
  const auto spin = [] { waitForEvents(20); };
  while (document_->state() == TraceDocument::State::Loading) spin();
  QApplication::processEvents();
  while (!probes_->editor().isChecked()) spin();
  while (fleet_->isBusy() || rows_->isBusy() || measure_->isBusy() || flame_->isBusy() || search_->search().isBusy())
    spin();
  QApplication::processEvents();
  timeline_->settle();
  QApplication::processEvents();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty()) return;
  const QString path = urls.front().toLocalFile();
  if (!mayLeaveTarget()) return;
  if (path.endsWith(QLatin1String(".kevs")) || path.endsWith(QLatin1String(".kevb")))
    report(openSession(path));
  else
    openTrace(path);
}

void MainWindow::report(const Result<void>& result) {
  if (result) return;
  problems_->add(tr("file"), QString::fromStdString(result.error().message()), {});
  problems_dock_->show();
  problems_dock_->raise();
}

}  // namespace kevt::gui
