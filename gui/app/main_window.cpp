// The main window: what belongs together is connected here, and nothing else happens here.
//
// Timeline and table show one selection: a row chosen in either is shown in the other.
#include "gui/app/main_window.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QSplitter>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/command_palette.h"
#include "gui/app/filter_bar.h"
#include "gui/app/measure_panel.h"
#include "gui/model/event_rows.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/event_table.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

MainWindow::MainWindow() : document_(std::make_unique<TraceDocument>()) {
  setWindowTitle(tr("kevtrace"));
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  rows_ = new EventRows(*document_, this);
  makeCentre();
  makeDocks();
  makeActions();
  makeStateBar();
  connect(document_.get(), &TraceDocument::stateChanged, this, &MainWindow::showState);
  connect(document_.get(), &TraceDocument::viewChanged, this, &MainWindow::showState);
  connect(timeline_, &TimelineView::rowSelected, table_, &EventTable::showRow);
  connect(table_, &EventTable::rowSelected, timeline_, &TimelineView::selectRow);
  connect(timeline_, &TimelineView::laneMenuWanted, this, &MainWindow::laneMenu);
  connect(table_, &EventTable::cellMenuWanted, this, &MainWindow::cellMenu);
  showState();
}

MainWindow::~MainWindow() = default;

void MainWindow::makeCentre() {
  auto* splitter = new QSplitter(Qt::Vertical, this);
  timeline_ = new TimelineView(*document_, splitter);
  auto* lower = new QWidget(splitter);
  auto* layout = new QVBoxLayout(lower);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  filter_ = new FilterBar(*rows_, lower);
  table_ = new EventTable(*rows_, lower);
  layout->addWidget(filter_);
  layout->addWidget(table_, 1);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setChildrenCollapsible(false);
  setCentralWidget(splitter);
}

void MainWindow::makeDocks() {
  auto* dock = new QDockWidget(tr("Measure"), this);
  dock->setObjectName(QStringLiteral("measure"));
  measure_ = new MeasurePanel(*document_, *timeline_, dock);
  dock->setWidget(measure_);
  addDockWidget(Qt::RightDockWidgetArea, dock);
}

}  // namespace kevt::gui
