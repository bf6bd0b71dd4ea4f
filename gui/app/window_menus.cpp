// Menus on lanes and cells, and what they do.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QStatusBar>
#include <QTabWidget>
#include <QUrl>

#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/main_window.h"
#include "gui/app/search_bar.h"
#include "gui/model/compiler_service.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

void MainWindow::addFilterTerm(const QString& term) {
  const QString old = filter_->text().trimmed();
  filter_->setText(old.isEmpty() || old.contains(QLatin1Char(':')) ? term
                                                                   : QStringLiteral("(%1) && %2").arg(old, term));
}

void MainWindow::plot(const QString& system, const QString& name) {
  for (const auto& event : document_->view().names().events) {
    if (QString::fromStdString(event->system) != system || QString::fromStdString(event->name) != name) continue;
    for (const record::Field& field : event->fields) {
      if (field.kind != record::FieldKind::Number || field.role != record::PlaceRole::None) continue;
      const std::pair<QString, QString> lane(system + QLatin1Char('/') + name, QString::fromStdString(field.name));
      auto& fields = timeline_->wishes().fields;
      if (std::erase(fields, lane) == 0) fields.push_back(lane);
      return timeline_->wishesChanged();
    }
  }
}

// Measures the time between two records, in either order: selects the range and shows its length.
void MainWindow::measureLatency(record::Row from, record::Row to) {
  const record::StoreView& view = document_->view();
  if (from >= view.rows() || to >= view.rows()) return;
  const auto [first, last] = std::minmax(from, to);
  timeline_->setRange(std::pair(view.time_ns(first), view.time_ns(last)));
  timeline_->reveal(view.time_ns(first));
  statusBar()->showMessage(tr("from %1 (record %2) to %3 (record %4): %5")
                               .arg(QString::fromStdString(view.format(first).name), grouped(first + 1ull),
                                    QString::fromStdString(view.format(last).name), grouped(last + 1ull),
                                    duration(static_cast<double>(view.time_ns(last) - view.time_ns(first)))));
}

void MainWindow::addLatencyActions(QMenu& menu, record::Row row) {
  if (row >= document_->view().rows()) return;
  const auto [first, last] = table_->selection();
  if (last > first)
    menu.addAction(tr("Latency from the first to the last selected record"),
                   [this, a = rows_->rowAt(first), b = rows_->rowAt(last)] { measureLatency(a, b); });
  menu.addAction(tr("Latency from here to …"), [this, row] {
    latency_from_ = row;
    statusBar()->showMessage(
        tr("from record %1 to … : choose the other end in the menu of its record").arg(row + 1ull));
  });
  if (latency_from_ < document_->view().rows() && latency_from_ != row)
    menu.addAction(tr("… to here, from record %1").arg(grouped(latency_from_ + 1ull)),
                   [this, row] { measureLatency(latency_from_, row); });
}

// For an event with a known definition: shows and copies the source line of the probed place, and opens the file if it
// exists here and is a source file. Other files are not opened, since debug information comes from the traced program.
void MainWindow::addSourceAction(QMenu& menu, record::Row row) {
  if (row >= document_->view().rows()) return;
  const record::EventFormat& format = document_->view().format(row);
  const LiveEvent* event =
      tree_->eventAt(tree_->find(QString::fromStdString(format.system), QString::fromStdString(format.name)));
  if (!event || event->definition.isEmpty()) return;
  menu.addAction(tr("Source line of %1").arg(event->name), [this, definition = event->definition] {
    compiler_->facts(definition, [this](const std::optional<PlaceFacts>& facts) {
      if (!facts || facts->source.isEmpty())
        return statusBar()->showMessage(tr("no debug information tells where it stands in the source"));
      QApplication::clipboard()->setText(facts->source);
      statusBar()->showMessage(tr("source: %1 (copied)").arg(facts->source));
      const QString file = facts->source.section(QLatin1Char(':'), 0, -2);
      static const QStringList kSources = {"c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs", "S"};
      if (QFileInfo(file).isFile() && kSources.contains(QFileInfo(file).suffix()))
        QDesktopServices::openUrl(QUrl::fromLocalFile(file));
    });
  });
}

void MainWindow::keepHits() {
  const std::vector<record::Row>& hits = search_->search().hits();
  if (!search_->search().isActive()) return;
  timeline_->addFound(search_->edit().text(), hits);
}

// An event was dragged here: shows, pins and selects its lane.
void MainWindow::takeEvent(const QString& event) {
  const QString name = QStringLiteral("event:") + event;
  LanePrefs& wishes = timeline_->wishes();
  wishes.hidden.erase(std::remove(wishes.hidden.begin(), wishes.hidden.end(), name), wishes.hidden.end());
  std::erase(wishes.collapsed, Lane::Kind::Pinned);
  if (std::ranges::find(wishes.pinned, name) == wishes.pinned.end()) wishes.pinned.push_back(name);
  timeline_->wishesChanged();
  const record::StoreNames& names = document_->view().names();
  for (std::size_t i = 0; i < timeline_->lanes().size(); ++i)
    if (timeline_->lanes()[i].name(names) == name) return timeline_->selectLane(i);
  statusBar()->showMessage(tr("%1 has no records yet; its lane is pinned when they come").arg(event));
}

void MainWindow::laneMenu(const Lane& lane, const QPoint& global) {
  QMenu menu(this);
  const record::StoreNames& names = document_->view().names();
  LanePrefs& wishes = timeline_->wishes();
  if (lane.kind == Lane::Kind::Group) return;
  if (lane.kind == Lane::Kind::Cpu)
    menu.addAction(tr("Only this CPU"), [&] { addFilterTerm(QStringLiteral("CPU == %1").arg(lane.id)); });
  if (lane.kind == Lane::Kind::Task) {
    const int pid = names.tasks[lane.id].pid;
    menu.addAction(tr("Only this task"), [this, pid] { addFilterTerm(QStringLiteral("common_pid == %1").arg(pid)); });
    menu.addAction(tr("All but this task"),
                   [this, pid] { addFilterTerm(QStringLiteral("common_pid != %1").arg(pid)); });
  }
  if (lane.kind == Lane::Kind::Found)
    menu.addAction(tr("Take this lane away"), [this, lane] {
      std::erase_if(timeline_->wishes().found, [&](const FoundRows& one) { return one.number == lane.id; });
      timeline_->wishesChanged();
    });
  if (lane.kind == Lane::Kind::Event || lane.isPlot()) {
    const record::EventFormat& event = *names.events[lane.id];
    const QString name = QString::fromStdString(event.name);
    menu.addAction(tr("Only this event"), [this, name] { filter_->setText(name + QStringLiteral(": ")); });
    for (const record::Field& field : event.fields) {
      if (field.kind != record::FieldKind::Number || field.role != record::PlaceRole::None) continue;
      const std::pair<QString, QString> plot(QString::fromStdString(event.system + "/" + event.name),
                                             QString::fromStdString(field.name));
      auto* action = menu.addAction(tr("Plot %1").arg(plot.second), [this, plot] {
        auto& fields = timeline_->wishes().fields;
        if (std::erase(fields, plot) == 0) fields.push_back(plot);
        timeline_->wishesChanged();
      });
      action->setCheckable(true);
      action->setChecked(std::ranges::find(wishes.fields, plot) != wishes.fields.end());
    }
    const QString whole = QString::fromStdString(event.system + "/" + event.name);
    const auto durations = [&](const QString& text, std::vector<QString>& events) {
      QAction* action = menu.addAction(text, [this, &events, whole] {
        if (std::erase(events, whole) == 0) events.push_back(whole);
        timeline_->wishesChanged();
      });
      action->setCheckable(true);
      action->setChecked(std::ranges::find(events, whole) != events.end());
    };
    durations(tr("Plot how long it took"), wishes.latencies);
    durations(tr("Heat map of how long it took"), wishes.heats);
  }
  menu.addSeparator();
  const bool is_pinned = std::ranges::find(wishes.pinned, lane.name(names)) != wishes.pinned.end();
  menu.addAction(is_pinned ? tr("Unpin this lane (P)") : tr("Pin this lane above all (P)"),
                 [this, lane] { timeline_->togglePinned(lane); });
  const auto move = [&](const QString& text, int by) {
    menu.addAction(text, [this, by] {
      if (timeline_->selectedLane()) timeline_->moveLane(*timeline_->selectedLane(), by);
    });
  };
  for (std::size_t i = 0; i < timeline_->lanes().size(); ++i)
    if (timeline_->lanes()[i].isSame(lane)) timeline_->selectLane(i);
  move(tr("Move up (Alt+Up)"), -1);
  move(tr("Move down (Alt+Down)"), 1);
  menu.addAction(tr("Hide this lane"), [this, name = lane.name(names)] {
    timeline_->wishes().hidden.push_back(name);
    timeline_->wishesChanged();
  });
  if (!wishes.hidden.empty())
    menu.addAction(tr("Show all hidden lanes"), [this] {
      timeline_->wishes().hidden.clear();
      timeline_->wishesChanged();
    });
  menu.exec(global);
}

void MainWindow::cellMenu(const QModelIndex& index, const QPoint& global) {
  QMenu menu(this);
  const QString column = rows_->headerData(index.column(), Qt::Horizontal, Qt::DisplayRole).toString();
  const QString value = rows_->data(index, Qt::DisplayRole).toString();
  const bool is_number = rows_->data(index, EventRows::NumberRole).isValid();
  QString term;
  if (index.column() == EventRows::Cpu) term = QStringLiteral("CPU %1 ") + value;
  if (index.column() == EventRows::Pid) term = QStringLiteral("common_pid %1 ") + value;
  if (index.column() == EventRows::Task) term = QStringLiteral("COMM %1 \"%2\"").arg(QStringLiteral("%1"), value);
  if (index.column() >= EventRows::FixedColumns && !value.isEmpty()) {
    QString bare = value;
    if (bare.startsWith(QLatin1Char('"')) && bare.endsWith(QLatin1Char('"'))) bare = bare.mid(1, bare.size() - 2);
    term = column + QStringLiteral(" %1 ") + (is_number ? value : QLatin1Char('"') + bare + QLatin1Char('"'));
  }
  if (!term.isEmpty()) {
    menu.addAction(tr("Only these: %1").arg(term.arg(QStringLiteral("=="))),
                   [this, term] { addFilterTerm(term.arg(QStringLiteral("=="))); });
    menu.addAction(tr("All but these"), [this, term] { addFilterTerm(term.arg(QStringLiteral("!="))); });
    const record::Row row = rows_->rowAt(index.row());
    if (service_->isRunning() && row < document_->view().rows())
      menu.addAction(tr("Record only these: as the event's own filter …"), [this, term, row] {
        const record::EventFormat& format = document_->view().format(row);
        events_->proposeFilter(QString::fromStdString(format.system), QString::fromStdString(format.name),
                               term.arg(QStringLiteral("==")));
      });
  }
  if (index.column() == EventRows::Event)
    menu.addAction(tr("Only this event"), [this, value] { filter_->setText(value + QStringLiteral(": ")); });
  addLatencyActions(menu, rows_->rowAt(index.row()));
  if (index.column() >= EventRows::FixedColumns)
    menu.addAction(tr("Colour by %1").arg(column), [this, column] {
      timeline_->setColouring({ColourBy::Field, column});
      showLook();
    });
  addSourceAction(menu, rows_->rowAt(index.row()));
  menu.addAction(tr("Set a marker here"), [this, index] {
    const record::Row row = rows_->rowAt(index.row());
    if (row < document_->view().rows()) timeline_->addMarker(document_->view().time_ns(row));
  });
  menu.addAction(tr("Copy the line"),
                 [this, index] { QApplication::clipboard()->setText(rows_->data(index, Qt::ToolTipRole).toString()); });
  menu.addAction(tr("Export selected records …"), [this] { askExport(); });
  menu.exec(global);
}

}  // namespace kevt::gui
