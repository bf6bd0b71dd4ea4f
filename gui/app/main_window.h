// MainWindow: timeline over table, docks around them, the state of the recording always in sight.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QMap>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/error.h"
#include "gui/model/job.h"
#include "gui/model/lanes.h"
#include "gui/model/time_text.h"
#include "tracefs-compat/record/store/store_chunk.h"

class QDockWidget;
class QLabel;
class QMenu;
class QSplitter;
class QTemporaryDir;
class QToolButton;

namespace kevt::proc {
struct ProcessChoice;
}

namespace kevt::gui {

class CompareDialog;
class CompilerService;
class EventRows;
class EventTable;
class EventTree;
class EventsPanel;
class FilesPanel;
class FilterBar;
class FlamePanel;
class FleetSource;
class FleetStrip;
class Guide;
class HistogramPanel;
class LatencyDialog;
class MeasurePanel;
class ProbesPanel;
class ProblemsPanel;
class SearchBar;
class TargetProcess;
class TimelineView;
class TraceDocument;
class TracingService;
class TreePanel;
class TriggerWatch;
class Workspaces;
struct CompareChoice;
struct LatencyEvent;
struct LiveState;
struct Session;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  TraceDocument& document() { return *document_; }
  TimelineView& timeline() { return *timeline_; }
  EventTable& table() { return *table_; }
  FilterBar& filterBar() { return *filter_; }
  MeasurePanel& measure() { return *measure_; }
  FlamePanel& flame() { return *flame_; }
  FleetStrip& fleetStrip() { return *strip_; }
  FleetSource& fleet() { return *fleet_; }
  HistogramPanel& histograms() { return *histograms_; }
  ProbesPanel& probes() { return *probes_; }
  EventsPanel& events() { return *events_; }
  EventTree& eventTree() { return *tree_; }
  ProblemsPanel& problems() { return *problems_; }
  FilesPanel& files() { return *files_; }
  Workspaces& workspaces() { return *workspaces_; }
  SearchBar& search() { return *search_; }
  TreePanel& directoryFiles() { return *directory_; }
  TracingService& service() { return *service_; }
  CompilerService& compiler() { return *compiler_; }
  TargetProcess& target() { return *target_; }

  void openTrace(const QString& path);
  // Applies: the editor's definitions are applied as soon as the target is ready.
  enum class Start { Waits, Applies };
  void startTarget(const QStringList& command, Start start = Start::Waits);
  void attachTo(const QList<int>& pids, Start start = Start::Waits);
  void attachTo(const proc::ProcessChoice& choice, Start start = Start::Waits);
  void stopTarget();
  // The running kernel, through one of our runtimes: "bpf" or "kmod".
  void traceKernel(const QString& runtime, Start start = Start::Waits);
  // Follows our mount or the kernel's own tracefs. `pid`: the process whose functions name addresses; 0: none.
  void openDirectory(const QString& directory, int pid);
  // Uses kallsyms and BTF of another kernel for completion and checks. Either path may be empty.
  void useKernelFiles(const QString& kallsyms, const QString& btf);
  // A session may be somebody else's, and Apply writes to the directory that it follows. So the window asks before it
  // follows the directory, unless `following` says what to do.
  enum class Following { Asks, Follows, Leaves };
  Result<void> openSession(const QString& path, Following following = Following::Asks);
  Result<void> writeSession(const QString& path);
  Session session() const;
  void applySession(const Session& session, Following following);

  // Writes rows [first, last] of the table in the format of the file's ending: .txt, .csv, .json.
  Result<void> exportRows(const QString& path, int first, int last);
  // Writes the open recording, or both that are open beside one another, compared as a page (HTML), with the
  // distributions of plotted fields; `done` comes with what could not be read of them, or why there is no page.
  Cancelled compare(const CompareChoice& choice, std::function<void(const Result<std::string>&)> done);
  // A form for it; nullptr: no recording is open.
  CompareDialog* askCompare();
  // Opens another recording beside the open one (record/beside.h), aligned as the word says.
  void openBeside(const QString& other, const QString& alignment);
  // Shifts the second recording against the first one, so that the selected record is where the last marker is.
  Result<void> moveBeside();
  // Writes the whole trace, in any format that `kevtrace convert` writes.
  Result<void> saveTrace(const QString& path);

  // Three steps for a first user (guide.h).
  void showGuide();
  Guide* guide() { return guide_; }  // nullptr: it was not shown yet
  // The paths of recordings that were opened, the last one first; kept by whoever owns the settings.
  QStringList& recentTraces() { return recent_; }
  static constexpr int kMostRecent = 10;
  // Asks how much memory the records of the next trace may take.
  void askMemory();
  static constexpr int kMostMemoryMb = 1 << 20;

  // A form for the time from one event of the live directory to another one; nullptr: nothing is live.
  LatencyDialog* askLatency();

  QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, const std::function<void()>& run);

  // Waits until everything is loaded and painted; for screenshots and tests.
  void settle();

  void setTimeFormat(TimeFormat format);
  void measureLatency(record::Row from, record::Row to);
  void keepHits();                      // shows the search's hits as a lane
  void setMouse(const QString& whose);  // "kernelshark"; empty: our own

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makeCentre();
  void makeDocks();
  QDockWidget* addDock(const QString& title, const QString& name, QWidget* widget);
  void makeActions();
  void makeTimelineActions(QMenu* menu);
  void makeStateBar();
  void connectLive();
  void connectHistograms();
  void connectFleet();
  void takeState(const LiveState& state);
  void tellTarget(const QString& directory, int pid);
  void showState();
  // What an action needs. Without it the action is disabled, and its tip says why.
  enum class Needs { Directory, Growth, Target };
  QAction* liveOnly(Needs needs, QAction* action, const QString& tip = {});
  void showLiveOnly();
  void setFlightRecorder(bool on);
  void leaveLive();
  void beginTarget(const QStringList& command, Start start);
  void takeDocument();
  void endTarget();
  bool mayLeaveTarget();
  void askAttach();
  void makeLatency(const LatencyEvent& latency, std::function<void(const QString& error)> done);
  void plot(const QString& system, const QString& name);
  void laneMenu(const Lane& lane, const QPoint& global);
  void cellMenu(const QModelIndex& index, const QPoint& global);
  void addFilterTerm(const QString& term);
  void addLatencyActions(QMenu& menu, record::Row row);
  void addSourceAction(QMenu& menu, record::Row row);
  void takeEvent(const QString& event);
  void makeLookActions(QMenu* menu);
  void colourBy(ColourBy what);
  void showLook();
  void keepLook(Session& session) const;
  void takeLook(const Session& session);
  void showFlags();
  Result<void> writeBundle(const Session& session, const QString& path);
  Result<void> exportCells(const QString& path, int first, int last);
  bool mayFollow(const QString& directory, Following following);
  void checkTrace(const Session& session);
  void askExport();
  void askBeside();
  std::optional<QString> askAlignment(const QString& title, const QString& question, const QString& whole);
  void askBuffer();
  void noteRecent();
  void showRecent(QMenu& menu);
  void autosave();
  void report(const Result<void>& result);

  std::unique_ptr<TraceDocument> document_;
  std::unique_ptr<TracingService> service_;
  std::unique_ptr<TargetProcess> target_;
  std::unique_ptr<CompilerService> compiler_;
  std::unique_ptr<TriggerWatch> triggers_;
  std::unique_ptr<QTemporaryDir> unpacked_;  // the recording of an opened bundle
  EventTree* tree_ = nullptr;
  EventRows* rows_ = nullptr;
  FleetSource* fleet_ = nullptr;
  FleetStrip* strip_ = nullptr;  // of a database
  TimelineView* timeline_ = nullptr;
  EventTable* table_ = nullptr;
  FilterBar* filter_ = nullptr;
  MeasurePanel* measure_ = nullptr;
  FlamePanel* flame_ = nullptr;
  HistogramPanel* histograms_ = nullptr;
  ProbesPanel* probes_ = nullptr;
  EventsPanel* events_ = nullptr;
  ProblemsPanel* problems_ = nullptr;
  FilesPanel* files_ = nullptr;
  SearchBar* search_ = nullptr;
  TreePanel* directory_ = nullptr;
  QSplitter* centre_ = nullptr;
  Workspaces* workspaces_ = nullptr;
  QDockWidget* problems_dock_ = nullptr;
  QLabel* state_ = nullptr;
  QLabel* rate_ = nullptr;
  QToolButton* buffer_ = nullptr;
  struct LiveOnly {
    Needs needs;
    QAction* action;
    QString tip;
  };
  std::vector<LiveOnly> live_only_;
  QAction* buffer_place_ = nullptr;
  QString opened_file_;  // the recording that is shown; empty: none
  QStringList recent_;
  bool is_unpacking_ = false;  // the recording that is opened is a bundle's, and gone with the window
  Guide* guide_ = nullptr;
  QToolButton* lost_ = nullptr;
  QAction* tracing_ = nullptr;
  QAction* flight_recorder_ = nullptr;
  QAction* patterns_ = nullptr;
  QAction* kernelshark_ = nullptr;
  QList<QAction*> time_formats_, colour_by_;  // in the order of their enums
  QList<QAction*> active_markers_;            // A, B
  record::Row latency_from_ = record::kNoRow;
  QStringList command_;
  QMap<QString, QString> files_of_target_;  // WrittenTarget::files
  QString theme_;
  std::uint64_t live_lost_ = 0;
  bool was_tracing_ = false;
  std::optional<bool> overwrites_;                 // the directory's option `overwrite`
  bool keeps_newest_ = false, overwrote_ = false;  // the flight recorder is on; the option before it
  bool applies_ = false;                           // Apply is to be done once possible
  int pid_ = 0;
  QString wanted_event_;  // a synthetic event that is selected when it is there
  QElapsedTimer since_saved_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
