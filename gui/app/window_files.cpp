// What the window reads and writes: recordings, sessions, exports.
#include <fmt/format.h>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <utility>

#include "common/controls.h"
#include "common/error.h"
#include "gui/app/filter_bar.h"
#include "gui/app/guide.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/workspaces.h"
#include "gui/model/apply_plan.h"
#include "gui/model/event_rows.h"
#include "gui/model/fleet_source.h"
#include "gui/model/row_text.h"
#include "gui/model/session.h"
#include "gui/model/session_bundle.h"
#include "gui/model/text_forms.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/fleet_strip.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/record/beside.h"
#include "tracefs-compat/record/formats/csv_text.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::gui {

namespace {

QString titleOf(const QString& path) {
  const auto beside = record::beside_names(path.toStdString());
  if (!beside) return QFileInfo(path).fileName();
  QStringList names;
  for (const std::string& name : record::instance_names(beside->files)) names.append(fromUtf8(name));
  return names.join(QObject::tr(" beside "));
}

// Of all files; a path of a session or the command line may be relative.
QString absolutePath(const QString& path) {
  const auto beside = record::beside_names(path.toStdString());
  if (!beside) return QFileInfo(path).absoluteFilePath();
  QStringList files;
  for (const std::string& file : beside->files) files.append(QFileInfo(fromUtf8(file)).absoluteFilePath());
  const QString together = files.join(QLatin1Char(','));
  return beside->alignment.empty() ? together : together + QLatin1Char('@') + fromUtf8(beside->alignment);
}

}  // namespace

void MainWindow::openTrace(const QString& path) {
  endTarget();
  command_.clear();
  opened_file_ = path;
  setWindowTitle(tr("%1 — kevtrace").arg(titleOf(path)));
  workspaces_->propose(Workspace::Analyse);
  strip_->setMostRecords(document_->mostRecords());
  fleet_->open(fleet::is_address(path.toStdString()) ? path : QString());
  document_->openFile(path);
}

void MainWindow::noteRecent() {
  if (is_unpacking_ || document_->view().empty()) return;
  const QString path = document_->path();
  const QString known = fleet::is_address(path.toStdString()) ? path : absolutePath(path);
  recent_.removeAll(known);
  recent_.prepend(known);
  recent_.resize(std::min<qsizetype>(recent_.size(), kMostRecent));
}

void MainWindow::askMemory() {
  bool ok = false;
  const int megabytes = QInputDialog::getInt(
      this, tr("Memory for records"),
      tr("Megabytes of memory for the records of the next trace.\nWhat does not fit is kept in a file in %1.")
          .arg(fromUtf8(record::SpillFile::usual_folder())),
      static_cast<int>(document_->memory() >> 20), 0, kMostMemoryMb, 64, &ok);
  if (ok) document_->setMemory(static_cast<std::uint64_t>(megabytes) << 20);
}

void MainWindow::showRecent(QMenu& menu) {
  menu.clear();
  for (const QString& path : recent_) {
    QAction* const action = menu.addAction(titleOf(path));
    action->setToolTip(path);
    connect(action, &QAction::triggered, this, [this, path] {
      if (mayLeaveTarget()) openTrace(path);
    });
  }
  if (recent_.isEmpty()) menu.addAction(tr("no recording was opened yet"))->setEnabled(false);
}

void MainWindow::showGuide() {
  if (guide_ == nullptr) {
    addToolBarBreak();
    guide_ = new Guide(*this);
    addToolBar(guide_);
  }
  guide_->begin();
}

// Tells the probes panel about the definitions of the open recording.
void MainWindow::takeDocument() {
  if (document_->state() == TraceDocument::State::Loading) return probes_->endRecording();
  if (document_->state() != TraceDocument::State::Loaded || opened_file_.isEmpty()) return;
  noteRecent();
  const record::Metadata& metadata = *document_->metadata();
  QStringList definitions;
  for (const std::string& line : metadata.definitions) {
    definitions.append(QString::fromStdString(line));
    const std::string event = nameOfListing(definitions.back()).toStdString() + ": ";
    for (const std::string& filter : metadata.filters)
      if (filter.starts_with(event))
        definitions.append(QStringLiteral("  filter ") + QString::fromStdString(filter.substr(event.size())));
  }
  probes_->showRecording(definitions);
}

Session MainWindow::session() const {
  Session s;
  const bool is_loaded = document_->state() == TraceDocument::State::Loaded;
  const bool is_file = is_loaded && QFileInfo(document_->path()).isFile();
  const bool is_beside = is_loaded && !is_file && record::beside_names(document_->path().toStdString());
  if (is_file || is_beside) s.trace = absolutePath(document_->path());
  if (is_file) s.trace_hash = fileHash(s.trace);
  s.command = command_;
  if (service_->isRunning()) {
    s.directory = service_->directory();
    s.pid = pid_;
  }
  s.probes = probes_->ownText();
  for (const QString& name : probes_->owned()) s.owned.append(name);
  s.table_filter = filter_->text();
  const LanePrefs& wishes = timeline_->wishes();
  for (const QString& lane : wishes.hidden) s.hidden_lanes.append(lane);
  for (const Lane::Kind kind : wishes.collapsed) s.collapsed_groups.append(QString::number(static_cast<int>(kind)));
  s.plotted_fields = wishes.fields;
  s.hidden_columns = table_->hiddenColumns();
  s.lane_order = QStringList(wishes.order.begin(), wishes.order.end());
  s.pinned_lanes = QStringList(wishes.pinned.begin(), wishes.pinned.end());
  for (const Marker& m : timeline_->markers()) s.markers.push_back({m.ns, m.name, m.note});
  const auto& window = timeline_->window();
  if (!timeline_->view().empty())
    s.window_ns = {window.from_ns, window.from_ns + window.ns_per_pixel * timeline_->laneRect(0).width()};
  s.range_ns = timeline_->range();
  if (timeline_->selectedRow()) s.selected_row = *timeline_->selectedRow();
  keepLook(s);
  s.theme = theme_;
  s.workspace = Workspaces::names()[static_cast<int>(workspaces_->current())];
  s.arrangements = workspaces_->arrangements();
  return s;
}

void MainWindow::applySession(const Session& s, Following following) {
  theme_ = s.theme;
  if (theme_ == QLatin1String("dark")) applyTheme(ThemeChoice::Dark);
  if (theme_ == QLatin1String("light")) applyTheme(ThemeChoice::Light);
  if (!s.workspace.isEmpty()) workspaces_->take(s.workspace, s.arrangements);
  probes_->setOwnText(s.probes);
  probes_->owned() = std::set<QString>(s.owned.begin(), s.owned.end());
  LanePrefs& wishes = timeline_->wishes();
  wishes = {};
  wishes.hidden.assign(s.hidden_lanes.begin(), s.hidden_lanes.end());
  for (const QString& kind : s.collapsed_groups)
    if (const int number = kind.toInt(); number >= 0 && number <= static_cast<int>(Lane::Kind::Found))
      wishes.collapsed.push_back(static_cast<Lane::Kind>(number));
  wishes.fields = s.plotted_fields;
  wishes.order.assign(s.lane_order.begin(), s.lane_order.end());
  wishes.pinned.assign(s.pinned_lanes.begin(), s.pinned_lanes.end());
  takeLook(s);
  if (!s.trace.isEmpty()) {
    openTrace(s.trace);
    settle();
    checkTrace(s);
  }
  // The directory of a session that crashed may still exist and record.
  if (s.trace.isEmpty() && !s.directory.isEmpty() && QFileInfo::exists(s.directory + QStringLiteral("/events")) &&
      mayFollow(s.directory, following)) {
    command_ = s.command;
    openDirectory(s.directory, s.pid);
  }
  timeline_->wishesChanged();
  table_->setHiddenColumns(s.hidden_columns);
  filter_->setText(s.table_filter);
  std::vector<Marker> markers;
  for (const SessionMarker& m : s.markers) markers.push_back({m.ns, m.name, m.note});
  timeline_->setMarkers(std::move(markers));
  timeline_->setRange(s.range_ns);
  if (s.selected_row && *s.selected_row < timeline_->view().rows()) {
    timeline_->selectRow(static_cast<record::Row>(*s.selected_row));
    table_->showRow(static_cast<record::Row>(*s.selected_row));
  }
  if (s.window_ns && !timeline_->view().empty()) timeline_->setWindow(s.window_ns->first, s.window_ns->second);
}

void MainWindow::checkTrace(const Session& s) {
  if (s.trace_hash.isEmpty() || document_->view().empty() || fileHash(s.trace) == s.trace_hash) return;
  problems_->add(tr("session"), tr("%1 is not the recording that the session was made of").arg(s.trace),
                 tr("markers, the range and the selected record may mean something else"));
}

bool MainWindow::mayFollow(const QString& directory, Following following) {
  const QString name = fromUtf8(escaped(directory.toStdString()));
  if (following == Following::Asks) {
    QMessageBox box(
        QMessageBox::Question, tr("Follow a tracing directory"),
        tr("The session followed the tracing directory\n\n%1\n\nFollow it? What is applied is written there.")
            .arg(name),
        QMessageBox::Yes | QMessageBox::No, this);
    box.setTextFormat(Qt::PlainText);
    box.setDefaultButton(QMessageBox::No);
    following = box.exec() == QMessageBox::Yes ? Following::Follows : Following::Leaves;
  }
  if (following == Following::Follows) return true;
  problems_->add(tr("session"), tr("its directory %1 is not followed").arg(name),
                 tr("the File menu and --tracefs DIR name a directory"));
  return false;
}

Result<void> MainWindow::openSession(const QString& path, Following following) {
  const bool is_bundle = path.endsWith(QLatin1String(".kevb"));
  auto folder = is_bundle ? std::make_unique<QTemporaryDir>() : nullptr;
  auto session = is_bundle ? readBundle(path, folder->path()) : loadSession(path);
  if (!session) return std::unexpected(session.error());
  is_unpacking_ = is_bundle;
  applySession(*session, following);
  is_unpacking_ = false;
  if (is_bundle) unpacked_ = std::move(folder);  // the former folder is no longer read
  return {};
}

// Writes the trace as a compressed trace.dat with the symbols of its addresses, whatever its own format was.
Result<void> MainWindow::writeBundle(const Session& s, const QString& path) {
  const QTemporaryDir folder;
  const QString recording = folder.filePath(QStringLiteral("recording.dat7"));
  KEVT_TRY(saveTrace(recording));
  return gui::writeBundle(s, recording, path);
}

Result<void> MainWindow::writeSession(const QString& path) {
  Session s = session();
  if (path.endsWith(QLatin1String(".kevb"))) return writeBundle(s, path);
  if (QFileInfo(s.trace).isFile()) s.trace = QFileInfo(path).absoluteDir().relativeFilePath(s.trace);
  return saveSession(s, path);
}

namespace {

Result<void> writeWith(record::FileFormat format, const QString& path, const record::Metadata& metadata,
                       ProblemsPanel& problems, const std::function<Result<void>(record::RecordWriter&)>& fill) {
  auto writer = record::create_recording(format, path.toStdString(), metadata);
  if (!writer) return std::unexpected(writer.error());
  KEVT_TRY(fill(**writer));
  auto finished = (*writer)->finish();
  if (const auto note = (*writer)->take_note()) problems.add(QObject::tr("file"), fromUtf8(*note), {});
  return finished;
}

}  // namespace

// Writes the cells as the table shows them.
Result<void> MainWindow::exportCells(const QString& path, int first, int last) {
  auto file = record::OutputFile::create(path.toStdString());
  if (!file) return std::unexpected(file.error());
  for (int row = first - 1; row <= last; ++row) {
    const bool is_head = row < first;
    for (int column = 0; column < rows_->columnCount(); ++column) {
      const QVariant text = is_head ? rows_->headerData(column, Qt::Horizontal, Qt::DisplayRole)
                                    : rows_->data(rows_->index(row, column), Qt::DisplayRole);
      const bool is_number = !is_head && rows_->isNumber(row, column);
      if (column) file->append(",");
      record::append_csv_cell(text.toString().toStdString(),
                              is_number ? record::CellKind::Number : record::CellKind::Text, Controls::Raw,
                              file->buffer());
    }
    file->append("\n");
    KEVT_TRY(file->flush_if_long());
  }
  return file->flush();
}

Result<void> MainWindow::exportRows(const QString& path, int first, int last) {
  last = std::min(last, rows_->rowCount() - 1);
  if (path.endsWith(QLatin1String(".csv"))) return exportCells(path, first, last);
  const auto format = record::format_by_file(path.toStdString()).value_or(record::FileFormat::Text);
  const record::StoreView view = document_->view();
  return writeWith(format, path, *document_->metadata(), *problems_, [&](record::RecordWriter& writer) -> Result<void> {
    for (int row = first; row <= last; ++row) KEVT_TRY(writer.add(view.typed(rows_->rowAt(row))));
    return {};
  });
}

Result<void> MainWindow::saveTrace(const QString& path) {
  const auto format = record::format_by_file(path.toStdString());
  if (!format) return std::unexpected(Error("which format? the ending tells: " + record::format_names()));
  const record::StoreView view = document_->view();
  return writeWith(*format, path, *document_->metadata(), *problems_,
                   [&](record::RecordWriter& writer) -> Result<void> {
                     for (record::Row row = 0; row < view.rows(); ++row) KEVT_TRY(writer.add(view.typed(row)));
                     return {};
                   });
}

// An event that the open recording has records of; empty: `whole` is chosen; nullopt: the user went back.
std::optional<QString> MainWindow::askAlignment(const QString& title, const QString& question, const QString& whole) {
  QStringList choices = {whole};
  for (const auto& event : document_->view().names().events) choices.push_back(QString::fromStdString(event->name));
  bool is_chosen = false;
  const QString chosen = QInputDialog::getItem(this, title, question, choices, 0, false, &is_chosen);
  if (!is_chosen) return std::nullopt;
  return chosen == choices.front() ? QString() : chosen;
}

void MainWindow::openBeside(const QString& other, const QString& alignment) {
  QString path = absolutePath(opened_file_) + QLatin1Char(',') + QFileInfo(other).absoluteFilePath();
  if (!alignment.isEmpty()) path += QLatin1Char('@') + alignment;
  openTrace(path);
}

void MainWindow::askBeside() {
  if (!QFileInfo(opened_file_).isFile())
    return report(std::unexpected(Error("open a recording first: another one is shown beside it")));
  const QString other = QFileDialog::getOpenFileName(this, tr("Show another recording beside this one"), {},
                                                     tr("Recordings (*.dat);;All files (*)"));
  if (other.isEmpty()) return;
  if (opened_file_.contains(QLatin1Char(',')) || other.contains(QLatin1Char(',')))
    return report(std::unexpected(Error("recordings beside one another have no `,` in their paths")));
  const auto align_on =
      askAlignment(tr("Show beside"), tr("What the two recordings have at the same time"), tr("their first records"));
  if (align_on) openBeside(other, *align_on);
}

// The path says how much later than the first one the second one begins.
Result<void> MainWindow::moveBeside() {
  const auto beside = record::beside_names(opened_file_.toStdString());
  const record::StoreView view = document_->view();
  const auto row = timeline_->selectedRow();
  const auto& markers = timeline_->markers();
  if (!beside || beside->files.size() != 2)
    return std::unexpected(Error("there are no two recordings beside one another"));
  if (!row || markers.empty())
    return std::unexpected(
        Error("set a marker in one recording, and select the record of the other one that is to be at its time"));
  const auto& instances = document_->metadata()->instances;
  const auto second = std::ranges::find(instances, record::instance_names(beside->files)[1]) - instances.begin();
  const auto is_of_second = [&](record::Row at) { return view.typed(at).instance > second; };
  static constexpr std::uint64_t kLatest = std::uint64_t{1} << 61;  // of a damaged file
  const auto ns = [](std::uint64_t at) { return static_cast<std::int64_t>(std::min(at, kLatest)); };
  std::array<std::optional<std::int64_t>, 2> begins;
  for (record::Row at = 0; at < view.rows() && !(begins[0] && begins[1]); ++at)
    if (auto& begin = begins[is_of_second(at)]; !begin) begin = ns(view.time_ns(at));
  if (!begins[0] || !begins[1]) return std::unexpected(Error("one of the two recordings is empty"));
  const std::int64_t by = ns(markers.back().ns) - ns(view.time_ns(*row));
  const std::int64_t later = *begins[1] - *begins[0] + (is_of_second(*row) ? by : -by);
  const std::vector<Marker> kept = markers;
  const auto files = std::pair(fromUtf8(beside->files[0]), fromUtf8(beside->files[1]));
  openTrace(QStringLiteral("%1,%2@%3")
                .arg(files.first, files.second,
                     QString::fromStdString(fmt::format("{:+.9f}", static_cast<double>(later) / 1e9))));
  settle();
  timeline_->setMarkers(kept);
  return {};
}

void MainWindow::askExport() {
  const auto [first, last] = table_->selection();
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export records %1 to %2").arg(first + 1).arg(last + 1), {},
                                   tr("Text (*.txt);;CSV (*.csv);;NDJSON (*.json);;Recording (*.dat)"));
  if (!path.isEmpty()) report(exportRows(path, first, last));
}

}  // namespace kevt::gui
