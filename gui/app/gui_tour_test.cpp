// docs/gui-tour.md and its pictures: the window from its start to a comparison, of programs that are traced here.
//
// The main states are also drawn dark and larger. In all of them no text of a button, label, tab or heading is cut, and
// nothing is blank. KEVT_UPDATE_TOUR=1 writes
// page and pictures; ctest runs this program a second time at twice the size (QT_SCALE_FACTOR=2).
#include <QAbstractButton>
#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QProcess>
#include <QPushButton>
#include <QTabBar>
#include <QTest>
#include <QTextDocument>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>
#include <set>

#include "gui/app/attach_dialog.h"
#include "gui/app/events_panel.h"
#include "gui/app/filter_bar.h"
#include "gui/app/flame_panel.h"
#include "gui/app/histogram_panel.h"
#include "gui/app/latency_dialog.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/probes_panel.h"
#include "gui/app/window_testing.h"
#include "gui/app/workspaces.h"
#include "gui/model/event_tree.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/flame_view.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/record/analysis/call_tree.h"

namespace kevt::gui {
namespace {

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

const QString kFolder = QStringLiteral(KEVT_DOCS_DIR "/gui-tour");
const QString kPage = QStringLiteral(KEVT_DOCS_DIR "/gui-tour.md");
constexpr QSize kSize{1280, 800}, kLarge{1920, 1080};
constexpr const char* kHead =
    "# The window, a picture at a time\n\n"
    "What `kevtrace-gui` shows from the first start to a comparison; [gui.md](gui.md) tells how each part works. A "
    "test "
    "makes this page:\nits pictures are of programs that it traces (`gui/app/gui_tour_test.cpp`), 1280 × 800 pixels.\n";
// Opens, reads and writes of a few sizes, all the time.
constexpr const char* kBusy =
    "import os, time\n"
    "f = os.open('/dev/null', os.O_WRONLY)\n"
    "while True:\n"
    "  for n in (1, 20, 300, 4000, 300, 300):\n"
    "    os.write(f, b'x' * n)\n"
    "    open('/etc/passwd').close()\n"
    "  time.sleep(0.005)\n";

class GuiTour : public WindowTest {
 protected:
  static bool updates() { return qEnvironmentVariableIsSet("KEVT_UPDATE_TOUR"); }

  // The window and what stands over it, as one sees them.
  static QImage picture(QWidget& window) {
    QPixmap drawn = window.grab();
    QPainter painter(&drawn);
    for (QWidget* other : QApplication::topLevelWidgets())
      if (other != &window && other->isVisible() && other->windowFlags().testFlag(Qt::Popup))
        painter.drawPixmap(other->mapToGlobal(QPoint()) - window.mapToGlobal(QPoint()), other->grab());
    painter.end();
    return drawn.toImage();
  }
  static std::size_t colours(const QImage& image) {
    std::set<QRgb> all;
    for (int y = 0; y < image.height(); y += 3)
      for (int x = 0; x < image.width(); x += 3) all.insert(image.pixel(x, y));
    return all.size();
  }
  // Texts of buttons, one-line labels, tabs and columns' headings that have less room than they need.
  static QStringList cut(QWidget& window) {
    QStringList all;
    const auto look = [&](const QWidget& one, int room, QString text) {
      const int needs = one.fontMetrics().horizontalAdvance(text.remove(QLatin1Char('&')));
      if (!text.isEmpty() && one.isVisible() && !one.visibleRegion().isEmpty() && room < needs) all.append(text);
    };
    for (const QAbstractButton* one : window.findChildren<QAbstractButton*>()) look(*one, one->width(), one->text());
    for (const QLabel* one : window.findChildren<QLabel*>())
      if (!one->wordWrap() && !Qt::mightBeRichText(one->text()))
        for (const QString& line : one->text().split(QLatin1Char('\n'))) look(*one, one->width(), line);
    for (const QTabBar* one : window.findChildren<QTabBar*>())
      for (int tab = 0; tab < one->count(); ++tab) look(*one, one->tabRect(tab).width(), one->tabText(tab));
    for (const QHeaderView* one : window.findChildren<QHeaderView*>())
      for (int section = 0; one->model() && section < one->count(); ++section)
        if (!one->isSectionHidden(section))
          look(*one, one->sectionSize(section),
               one->model()->headerData(section, one->orientation(), Qt::DisplayRole).toString());
    return all;
  }

  void look(QWidget& window, const QString& state) {
    // A text that grew just now, as a live count does, has its room with the next turn of the event loop.
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    EXPECT_EQ(cut(window), QStringList()) << qPrintable(state);
    const QImage drawn = picture(window);
    EXPECT_GT(colours(drawn), 20u) << qPrintable(state);
    EXPECT_EQ(drawn.size(), window.size() * window.devicePixelRatio()) << qPrintable(state);
  }

  // A stop of the tour: its picture, and the same state dark and large.
  void stop(QWidget& window, const char* name, const QString& title, const QString& text) {
    page_ += QStringLiteral("\n## %1\n\n![%1](gui-tour/%2.png)\n\n%3\n").arg(title, QLatin1String(name), text);
    look(window, QLatin1String(name));
    const QString file = QStringLiteral("%1/%2.png").arg(kFolder, QLatin1String(name));
    if (updates() && window.devicePixelRatio() == 1.0) {
      EXPECT_TRUE(picture(window).save(file, nullptr, 0));
    }
    EXPECT_FALSE(QImage(file).isNull()) << qPrintable(file);
    pictures_.append(QLatin1String(name) + QStringLiteral(".png"));
  }
  void alsoDarkAndLarge(MainWindow& window, const QString& state) {
    applyTheme(ThemeChoice::Dark);
    window.settle();
    look(window, state + QStringLiteral(", dark"));
    window.resize(kLarge);
    window.settle();
    look(window, state + QStringLiteral(", dark and large"));
    applyTheme(ThemeChoice::Light);
    window.settle();
    look(window, state + QStringLiteral(", large"));
    window.resize(kSize);
    window.settle();
  }

  static void show(MainWindow& window) {
    window.resize(kSize);
    window.show();
    QApplication::setActiveWindow(&window);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
    window.settle();
  }
  static void press(MainWindow& window, const QKeySequence& key) {
    for (QAction* action : window.actions())
      if (action->shortcut() == key) return action->trigger();
    FAIL() << qPrintable(key.toString());
  }
  QString recorded(const QString& name, const QStringList& words) {
    QProcess kevtrace;
    kevtrace.setProcessChannelMode(QProcess::MergedChannels);
    kevtrace.start(TargetProcess::findKevtrace(), QStringList{"run", "-q", "-o", name} + words);
    EXPECT_TRUE(kevtrace.waitForFinished(kPatienceMs) && kevtrace.exitCode() == 0) << kevtrace.readAll().constData();
    return name;
  }

  void start();
  void live();
  void attach();
  void recording();
  void flames();

  QString page_ = QString::fromUtf8(kHead);
  QStringList pictures_;
};

void GuiTour::start() {
  MainWindow window;
  show(window);
  stop(window, "start", "Nothing is open",
       "The workspace *Author* (F7): an editor for definitions, and what can be done next. Ctrl+R starts a program, "
       "Ctrl+Shift+A attaches to one that runs, Ctrl+O opens a recording; one can be dropped here, too.");
  alsoDarkAndLarge(window, "start");
  window.showGuide();
  window.settle();
  stop(
      window, "guide", "The first start",
      "A bar leads through three steps on a live demo, at the very first start and from *Help*: start a program, put a "
      "probe into it, look at a record. Each step is done by its button, or in any other way.");
}

void GuiTour::live() {
  MainWindow window;
  show(window);
  DefinitionEditor& editor = window.probes().editor();
  editor.replaceText("p:wrote libc:write fd=%di:s32 len=%rdx:u64\nr:written libc:write n=$retval:s64");
  WAIT_FOR(editor.isChecked() && !editor.checked().mistakes.empty());
  window.settle();
  stop(window, "mistake", "A mistake",
       "The wrong word is underlined while one types; the kernel's own text and the fix stand below. Alt+Enter carries "
       "the fix out.");
  alsoDarkAndLarge(window, "mistake");

  window.startTarget({"/usr/bin/python3", "-S", "-c", QString::fromLatin1(kBusy)});
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  if (window.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  ASSERT_TRUE(window.service().isRunning());
  editor.replaceText("p:wrote libc:write fd=%di:s32 len=%dx:u64\np:opened libc:open");
  QTest::keyClick(&editor, Qt::Key_End, Qt::ControlModifier);
  QTest::keyClick(&editor, Qt::Key_Space, Qt::ControlModifier);
  WAIT_FOR(!editor.isCompleting() && editor.showsCompletion() && editor.isChecked());
  window.settle();
  stop(window, "completion", "Names of the target",
       "Ctrl+Space completes functions of the program that was started, registers, types, and names of arguments where "
       "debug information has them.");
  if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
  EXPECT_FALSE(editor.showsCompletion());

  editor.replaceText("p:wrote libc:write fd=%di:s32 len=%dx:u64\np:opened libc:open64 path=+0(%di):string");
  WAIT_FOR(editor.isChecked() && window.probes().canApply());
  press(window, QKeySequence("Ctrl+Return"));
  const auto hits = [&](const char* name) -> std::uint64_t {
    const LiveEvent* event = window.eventTree().eventAt(window.eventTree().find("kprobes", name));
    return event && event->is_enabled ? event->hits : 0;
  };
  WAIT_FOR(hits("wrote") > 500 && hits("opened") > 500 && window.document().view().rows() > 1000);
  window.events().select("kprobes", "opened");
  window.settle();
  stop(window, "applied", "Applied",
       "Ctrl+Return writes the definitions to the tracing directory, and hits are counted beside their lines. An "
       "event's "
       "pages show its `format`, filter, triggers, machine code, and the same thing as commands of other tools.");

  press(window, QKeySequence(Qt::Key_F8));
  WAIT_FOR(hits("wrote") > 2000);
  window.settle();
  stop(window, "live", "Live",
       "The workspace *Live* (F8): the newest records follow, a lane for each task and CPU, counts and rates beside "
       "them.");
  alsoDarkAndLarge(window, "live");

  window.events().select("kprobes", "wrote");
  window.findChild<QDockWidget*>(QStringLiteral("histogram"))->raise();
  window.histograms().keys().setText("len.log2");
  QTest::keyClick(&window.histograms().keys(), Qt::Key_Return);
  WAIT_FOR(window.histograms().track() && window.histograms().track()->slices().size() >= 8 &&
           window.histograms().track()->hits() > 1000);
  window.settle();
  stop(
      window, "histogram", "A histogram that fills",
      "The trigger `hist` counts at the hit, without records. Bars show all hits, the map when they came; a click on a "
      "bar makes the filter of its values.");
  alsoDarkAndLarge(window, "histogram");
  LatencyDialog* latency = window.askLatency();
  ASSERT_NE(latency, nullptr);
  latency->event(LatencyDialog::Begin).setCurrentText("kprobes:opened");
  latency->event(LatencyDialog::End).setCurrentText("kprobes:wrote");
  WAIT_FOR(latency->applyButton().isEnabled());
  stop(*latency, "latency", "From one event to another",
       "*Latency …* makes an event of the time between two others, paired by a key: here by thread, from each open to "
       "the "
       "next write. The form shows the files before they are written; one undo takes all back.");
  latency->close();
  window.target().stop();
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
}

void GuiTour::attach() {
  const QString mark = QStringLiteral("tour-of-kevtrace");
  QProcess target;
  target.start("/usr/bin/python3", {"-S", "-c", "import sys; sys.stdin.read()", mark});
  ASSERT_TRUE(target.waitForStarted(kPatienceMs));
  MainWindow window;
  show(window);
  AttachDialog dialog(&window);
  dialog.show();
  WAIT_FOR(!dialog.processes().isBusy());
  QTest::keyClicks(&dialog.edit(), mark);
  WAIT_FOR(dialog.view().model()->rowCount() == 1);
  stop(dialog, "attach", "Attach",
       "A few letters find a process. All of a name, container or control group can be traced instead, also those that "
       "come later. Why a process cannot be attached to is said in its line.");
  target.kill();
  target.waitForFinished(kPatienceMs);
}

void GuiTour::recording() {
  const QString dat =
      recorded("shop.dat", {"-e", "p:opening libc:open64 path=+0(%di):string flags=%si:x32", "-e",
                            "r:opened libc:open64 fd=$retval:s32", "-e", "p:handling shop:handle number=%si:s32", "-e",
                            "r:handled shop:handle", "-e", "p:wrote libc:write len=%dx:u64", "--",
                            QStringLiteral(KEVT_TOUR_PROGRAM)});
  MainWindow window;
  show(window);
  window.openTrace(dat);
  window.settle();
  ASSERT_EQ(window.workspaces().current(), Workspace::Analyse);
  const record::StoreView& view = window.document().view();
  ASSERT_GT(view.rows(), 2000u);
  const auto span = view.last_ns() - view.first_ns();
  window.timeline().setRange(std::pair(view.first_ns(), view.first_ns() + span / 3));
  WAIT_FOR(!window.measure().isBusy());
  window.settle();
  stop(window, "analyse", "A recording",
       "The workspace *Analyse* (F9): timeline over table, and what was measured in the selected range: hits, rates, "
       "percentiles of durations and fields. Addresses and flags have no mean. Without stacks the flame graph has the "
       "time of calls whose entries and returns were probed.");
  alsoDarkAndLarge(window, "analyse");

  window.filterBar().setText("opening: path ~ \"*services\"");
  window.settle();
  stop(window, "filter", "A filter",
       "The kernel's filter language, for the recording: timeline, table, measures, search and flame graph follow it.");

  applyTheme(ThemeChoice::Dark);
  window.filterBar().setText("");
  window.settle();
  stop(window, "dark", "Dark", "The same recording in the dark theme, which goes with the desktop's.");
  applyTheme(ThemeChoice::Light);
}

void GuiTour::flames() {
  const QString dat = recorded("stacks.dat", {"--stack", "-e", "p:opening libc:open64 path=+0(%di):string", "--",
                                              QStringLiteral(KEVT_TOUR_PROGRAM)});
  MainWindow window;
  show(window);
  window.openTrace(dat);
  window.settle();
  QDockWidget* dock = window.findChild<QDockWidget*>(QStringLiteral("flame"));
  window.resizeDocks({dock}, {window.height() * 55 / 100}, Qt::Vertical);
  dock->raise();
  FlamePanel& panel = window.flame();
  WAIT_FOR(!panel.isBusy() && panel.graph().tree() != nullptr);
  window.settle();
  stop(window, "flame", "A flame graph",
       "The stacks of the records in the selected range, by hits, time or any number of the records. A click zooms, a "
       "search marks, and the graph turns bottom up.");

  // What was before, beside what came with the new version. The program opens its output, then two files for each of
  // the first 300 requests.
  const record::StoreView& view = window.document().view();
  constexpr int kOpened = 1 + 2 * 300;
  record::Row border = 0;
  for (int opened = 0; border < view.rows(); ++border)
    if (view.names().events[view.event(border)]->name == "opening" && opened++ == kOpened) break;
  ASSERT_LT(border, view.rows());
  window.timeline().setRange(std::pair(view.first_ns(), view.time_ns(border - 1)));
  window.settle();
  panel.compare().setChecked(true);
  window.settle();
  window.timeline().setRange(std::pair(view.time_ns(border), view.last_ns()));
  window.settle();
  WAIT_FOR(!panel.isBusy() && panel.graph().tree()->compares());
  const auto& nodes = panel.graph().tree()->nodes();
  const auto named = [&](std::string_view name) {
    return std::ranges::find(nodes, name, &record::CallTree::Node::name);
  };
  const auto prices = named("look_up_prices"), customer = named("look_up_customer");
  ASSERT_TRUE(prices != nodes.end() && customer != nodes.end());
  EXPECT_EQ(prices->weight, 900u);
  EXPECT_EQ(prices->before, 300u);
  EXPECT_EQ(customer->weight, customer->before);
  stop(
      window, "regression", "What has become heavier",
      "*Compare* keeps a graph, here of the program's first half. In the second half a new version of `look_up_prices` "
      "reads its file three times: red has a greater part of the hits than before, blue a smaller one.");
  alsoDarkAndLarge(window, "regression");
}

TEST_F(GuiTour, ATextThatIsCutIsFound) {
  QWidget window;
  QLabel whole(QStringLiteral("a label"), &window), narrow(QStringLiteral("another label"), &window);
  QPushButton button(QStringLiteral("&Press"), &window);
  whole.resize(200, 20);
  narrow.setGeometry(0, 30, 40, 20);
  button.setGeometry(0, 60, 20, 20);
  window.resize(300, 100);
  window.show();
  EXPECT_EQ(cut(window), QStringList({QStringLiteral("Press"), QStringLiteral("another label")}));
}

TEST_F(GuiTour, IsThePageOfTheDocumentation) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  ASSERT_TRUE(QDir::setCurrent(folder_.path()));  // the window shows names as they are opened
  if (updates()) QDir().mkpath(kFolder);
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(live());
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(attach());
  ASSERT_NO_FATAL_FAILURE(recording());
  ASSERT_NO_FATAL_FAILURE(flames());
  QFile file(kPage);
  if (updates()) {
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(page_.toUtf8());
    file.close();
  }
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(QString::fromUtf8(file.readAll()), page_);
  QStringList there = QDir(kFolder).entryList({"*.png"});
  there.sort();
  pictures_.sort();
  EXPECT_EQ(there, pictures_);
}

}  // namespace
}  // namespace kevt::gui
