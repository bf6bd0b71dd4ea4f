// gui_live RATE SECONDS [KIB]: how the window follows a program that is hit RATE times a second, without a screen.
// KIB: the buffer of each CPU (Probes, Size of the buffer), instead of the usual 1408.
//
// A real target (gui_paced) under a real mount; the window follows it, is frozen, and is scrolled back while records go
// on arriving. A turn is one event of the event loop; nothing else happens while it lasts.
#include <QAction>
#include <QTest>
#include <cstdlib>

#include "gui/app/gui_times.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/model/event_tree.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"
#include "gui/view/wait_for_events.h"

namespace kevt::gui {
namespace {

constexpr int kPatienceMs = 30'000;

struct Live {
  MainWindow& window;
  TimedApplication& app;

  std::uint64_t hits() const {
    const LiveEvent* event = window.eventTree().eventAt(window.eventTree().find("kprobes", "w"));
    return event ? event->hits : 0;
  }

  void measure(const std::string& what, int seconds) {
    app.turns.clear();
    const record::Row before = window.document().view().rows();
    QElapsedTimer timer;
    timer.start();
    // By itself the timeline moves only when records come; also move it as a person does.
    while (timer.elapsed() < seconds * 1000) waitForEvents(20);
    const double rate = (window.document().view().rows() - before) / (static_cast<double>(timer.elapsed()) / 1000);
    app.turns.print(fmt::format("{} ({:.0f} records/s)", what, rate), "turns");
  }
};

int follow(TimedApplication& app, const QString& rate, int seconds, const QString& kib) {
  MainWindow window;
  window.resize(1600, 1000);
  window.show();
  window.probes().editor().replaceText("p:w paced_work a=%di:s32 b=%si:s64 c=%dx:u32 d=%cx:s64");
  window.startTarget({QCoreApplication::applicationDirPath() + "/kevt_gui_paced", rate});
  const auto apply = [&] {
    window.probes().apply();
    return !window.probes().owned().empty();
  };
  if (!QTest::qWaitFor(apply, kPatienceMs) ||
      !QTest::qWaitFor([&] { return window.document().view().rows() > 1000; }, kPatienceMs)) {
    fmt::print(stderr, "no record came\n");
    return 1;
  }
  if (!kib.isEmpty()) window.service().write({{QStringLiteral("buffer_size_kb"), kib, false, {}}}, {});
  Live live{window, app};
  live.measure("following", seconds);
  window.timeline().setFrozen(true);
  live.measure("frozen", seconds / 2);
  window.timeline().setFrozen(false);
  window.timeline().zoomToAll();
  live.measure("everything in sight", seconds / 2);
  window.timeline().setWindow(1e8, 2e8);
  live.measure("scrolled back", seconds / 2);
  const record::StoreView& view = window.document().view();
  std::uint64_t lost = 0;
  for (const record::StoreGap& gap : view.names().gaps) lost += gap.count == ~0ull ? 0 : gap.count;
  fmt::print(
      "records {}   hits {}   lost in {} gaps: {}   index {:.1f} bytes/record, in memory with the records' own bytes "
      "{:.1f}\n",
      view.rows(), live.hits(), view.names().gaps.size(), lost,
      static_cast<double>(view.size().index) / std::max(1u, view.rows()),
      static_cast<double>(view.size().in_memory) / std::max(1u, view.rows()));
  for (int i = 0; i < window.problems().topLevelItemCount(); ++i)
    fmt::print("problem: {}\n", window.problems().topLevelItem(i)->text(1).toStdString());
  window.target().finish();
  return 0;
}

}  // namespace

int runLive(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fmt::print(stderr, "usage: gui_live RATE SECONDS [KIB]\n");
    return 2;
  }
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("KEVTRACE_GUI_NO_AUTOSAVE", "1");
  TimedApplication app(argc, argv);
  applyTheme(ThemeChoice::Dark);
  return follow(app, QString::fromLocal8Bit(argv[1]), std::max(2, std::atoi(argv[2])),
                QString::fromLocal8Bit(argc == 4 ? argv[3] : ""));
}

}  // namespace kevt::gui

int main(int argc, char** argv) { return kevt::gui::runLive(argc, argv); }
