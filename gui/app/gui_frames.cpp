// gui_frames [FILE]: how fast the window opens, pans and zooms a recording, without a screen.
//
//   gui_frames --make N FILE     writes a trace.dat of N records: 8 CPUs, 24 threads, entries and returns
//   gui_frames FILE              first picture, load, index per record, frames while loading, panning, zooming
//
// A frame is one paintEvent of the whole timeline; its tiles are painted by the window's own threads meanwhile. Times
// are those of the UI thread: the median, the worst, and the longest time the event loop was blocked.
#include <fmt/format.h>

#include <QFile>
#include <QTimer>
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "gui/app/gui_times.h"
#include "gui/app/main_window.h"
#include "gui/app/search_bar.h"
#include "gui/model/completion.h"
#include "gui/model/definition_check.h"
#include "gui/model/event_rows.h"
#include "gui/model/record_search.h"
#include "gui/model/target_context.h"
#include "gui/model/trace_document.h"
#include "gui/view/event_table.h"
#include "gui/view/theme.h"
#include "gui/view/timeline_view.h"
#include "gui/view/wait_for_events.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::gui {
namespace {

record::EventFormat format(std::string_view name, int id, std::string_view address, std::string_view field) {
  const std::string text = fmt::format(
      "name: {}\nID: {}\nformat:\n"
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
      "\tfield:unsigned long {};\toffset:8;\tsize:8;\tsigned:0;\n"
      "\tfield:u64 {};\toffset:16;\tsize:8;\tsigned:0;\n\n"
      "print fmt: \"(%lx) {}=%Lu\", REC->{}, REC->{}\n",
      name, id, address, field, field, address, field);
  return *record::parse_format("kprobes", text);
}

int make(std::uint64_t records, const std::string& path) {
  record::Metadata metadata;
  metadata.cpus = 8;
  const record::EventFormat* events[4] = {&metadata.formats.add(format("rd", 1700, "__probe_ip", "count")),
                                          &metadata.formats.add(format("rd_done", 1701, "__probe_func", "got")),
                                          &metadata.formats.add(format("wr", 1702, "__probe_ip", "count")),
                                          &metadata.formats.add(format("wr_done", 1703, "__probe_func", "got"))};
  for (int pid = 100; pid < 124; ++pid) metadata.comms[pid] = fmt::format("worker{}", pid - 100);
  auto writer = record::create_recording(record::FileFormat::Dat, path, metadata);
  if (!writer) {
    fmt::print(stderr, "{}\n", writer.error().message());
    return 1;
  }
  std::mt19937_64 random(1);
  std::vector<int> open(24, -1);
  std::uint64_t ns = 1'000'000'000'000;
  for (std::uint64_t i = 0; i < records; ++i) {
    ns += random() % 4096 == 0 ? 3'000'000 : 200 + random() % 4000;
    const auto thread = static_cast<std::size_t>(random() % 24);
    const int kind = open[thread] < 0 ? static_cast<int>(random() % 2) * 2 : open[thread] + 1;
    open[thread] = open[thread] < 0 ? kind : -1;
    const auto id = static_cast<std::uint16_t>(events[kind]->id);
    const std::int32_t pid = 100 + static_cast<std::int32_t>(thread);
    const std::uint64_t address = kind < 2 ? 0xffffffff81000000 : 0xffffffff81002000, value = random() % 65536;
    std::uint8_t bytes[24] = {};
    std::memcpy(bytes, &id, 2);
    std::memcpy(bytes + 4, &pid, 4);
    std::memcpy(bytes + 8, &address, 8);
    std::memcpy(bytes + 16, &value, 8);
    const auto added = (*writer)->add({.event = events[kind],
                                       .time_ns = ns,
                                       .cpu = static_cast<std::uint32_t>(thread % 8),
                                       .pid = pid,
                                       .comm = metadata.comms[pid],
                                       .bytes = bytes});
    if (!added) return 1;
  }
  return (*writer)->finish() ? 0 : 1;
}

// Megabytes, of a line of /proc/self/status: RssAnon is memory that only this process has, RssFile what is mapped of
// files, which the kernel takes back when others need memory.
long resident_mb(const QByteArray& line) {
  QFile file(QStringLiteral("/proc/self/status"));
  if (!file.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& one : file.readAll().split('\n'))
    if (one.startsWith(line)) return one.mid(line.size()).simplified().split(' ').value(0).toLong() / 1000;
  return 0;
}

void waitFor(const std::function<bool()>& is_done) {
  while (!is_done()) waitForEvents(10);
}

// Filters the whole trace: all threads of the machine, by the clock.
void filters(MainWindow& window) {
  EventRows& rows = window.table().rows();
  const auto all = static_cast<double>(window.document().view().rows());
  for (const char* filter : {"count > 65000", "wr: count > 30000 && count < 31000 || count == 7", "rd_done: got & 1",
                             "common_pid == 101", "COMM ~ \"worker1*\"", "common_pid >= 0"}) {
    FilterMistake mistake;
    const Stopwatch watch;
    if (!rows.setFilter(QString::fromLatin1(filter), mistake))
      fmt::print("{}: {}\n", filter, mistake.text.toStdString());
    waitFor([&] { return !rows.isBusy(); });
    const double ms = static_cast<double>(watch.wall.nsecsElapsed()) / 1e6;
    fmt::print("filter {:<50} {:9.0f} ms   {:6.0f} M records/s   {} kept\n", filter, ms, all / ms / 1000,
               rows.kept() ? rows.kept()->size() : 0);
    const Stopwatch settled;
    window.settle();
    fmt::print("   window settled after {:.0f} ms more\n", static_cast<double>(settled.wall.nsecsElapsed()) / 1e6);
  }
  FilterMistake mistake;
  rows.setFilter({}, mistake);
  window.settle();
}

// Searches the whole trace, as the search line does; it ends at a million hits.
void searches(MainWindow& window) {
  RecordSearch& search = window.search().search();
  const record::StoreView view = window.document().view();
  for (const char* text : {"nowhere", "worker13-", "count=65432", "(libc_write", "31337", "fault"}) {
    QString error;
    const Stopwatch watch;
    if (!search.start({QString::fromLatin1(text), false, false}, error)) fmt::print("{}\n", error.toStdString());
    waitFor([&] { return !search.isBusy(); });
    const double ms = static_cast<double>(watch.wall.nsecsElapsed()) / 1e6;
    const auto& hits = search.hits();
    const bool is_full = hits.size() >= RecordSearch::kMostHits;
    const double looked_at = is_full ? hits.back() + 1.0 : static_cast<double>(view.rows());
    fmt::print("search {:<50} {:9.0f} ms   {:6.0f} M records/s   {} hits\n", text, ms, looked_at / ms / 1000,
               hits.size());
  }
  QString error;
  (void)search.start({}, error);
}

// Measures what a keystroke in the editor costs in the worker: a check of 200 lines, a completion among 150,000
// functions.
void authoring() {
  QString text;
  for (int i = 0; i < 200; ++i)
    text += QStringLiteral("p:ev%1 libc:open64 path=+0(%di):string a=%si:u32 b=+8(+0(%dx)):x64\n").arg(i);
  TargetContext world(
      {.pid = static_cast<int>(QCoreApplication::applicationPid()), .functions = {}, .kallsyms = {}, .btf = {}});
  std::vector<author::SymbolName> names;
  for (int i = 0; i < 150'000; ++i) names.push_back({fmt::format("sys_{}_{}", i * 7919 % 1'000'003, i), ""});
  const author::SymbolIndex symbols(std::move(names));
  Times checks, prefixes, letters;
  checkDefinitions(text, world.env());  // reads the libraries' symbols and types
  Times opened;
  for (int i = 0; i < 5; ++i) {
    ParsedLines fresh;
    const Stopwatch watch;
    checkDefinitions(text, world.env(), &fresh);
    opened.add(watch);
  }
  opened.print("200 lines for the first time", "checks");
  for (int i = 0; i < 20; ++i) {
    Stopwatch watch;
    const CheckedText checked =
        checkDefinitions(text + QStringLiteral("p:typed%1 libc:read").arg(i), world.env(), &world.parsed());
    checks.add(watch);
    if (!checked.mistakes.empty()) fmt::print("mistake: {}\n", checked.mistakes[0].text.toStdString());
    const auto complete = [&](const QString& line, Times& times) {
      const Stopwatch one;
      completeDefinition(line, static_cast<int>(line.size()), symbols);
      times.add(one);
    };
    complete(QStringLiteral("p:x sys_77"), prefixes);
    complete(QStringLiteral("p:x zzqx"), letters);  // no name matches, so all names are searched
  }
  checks.print("a keystroke in 200 lines", "checks");
  prefixes.print("150,000 functions, prefix", "times");
  letters.print("150,000 functions, letters", "times");
}

// Paints now, and lets finished tiles in.
void frame(TimelineView& timeline, Times& times) {
  const Stopwatch watch;
  timeline.viewport()->repaint();
  QApplication::processEvents();
  times.add(watch);
}

int measure(TimedApplication& app, const QString& path) {
  MainWindow window;
  window.resize(1600, 1000);
  window.show();
  QApplication::processEvents();
  TimelineView& timeline = window.timeline();
  app.turns.clear();
  window.openTrace(path);
  while (window.document().state() == TraceDocument::State::Loading) waitForEvents(10);
  const TraceDocument& document = window.document();
  const record::StoreView& view = document.view();
  for (const QString& problem : document.problems()) fmt::print("problem: {}\n", problem.toStdString());
  fmt::print(
      "records {}   first picture {} ms   loaded {} ms   index {:.1f} bytes/record   payload {:.1f}   process {:.1f} "
      "s\n"
      "in memory {} MB of records, {:.1f} bytes/record; of the process {} MB, and {} MB of mapped files\n",
      view.rows(), document.firstPictureMs(), document.loadMs(),
      static_cast<double>(view.size().index) / std::max(1u, view.rows()),
      static_cast<double>(view.size().payload) / std::max(1u, view.rows()),
      Stopwatch::now(CLOCK_PROCESS_CPUTIME_ID) / 1e9, view.size().in_memory / 1'000'000,
      static_cast<double>(view.size().in_memory) / std::max(1u, view.rows()), resident_mb("RssAnon:"),
      resident_mb("RssFile:"));
  app.turns.print("event loop while loading", "turns");
  const Stopwatch settled;
  window.settle();
  fmt::print("whole picture and measurements {:.0f} ms after the last record\n",
             static_cast<double>(settled.wall.nsecsElapsed()) / 1e6);
  const double span = static_cast<double>(view.last_ns() - view.first_ns());
  for (const double zoom : {1.0, 20.0, 1000.0, 100'000.0}) {
    Times pan, whole;
    timeline.setWindow(span * 0.3, span * 0.3 + span / zoom);
    timeline.settle();
    for (int i = 0; i < 240; ++i) {
      timeline.panBy(i < 120 ? 24 : -24);
      frame(timeline, pan);
    }
    pan.print(fmt::format("pan at 1/{:.0f}", zoom), "frames");
  }
  Times zoom;
  timeline.zoomToAll();
  timeline.settle();
  for (int i = 0; i < 120; ++i) {
    timeline.zoomBy(i < 60 ? 1.2 : 1 / 1.2, 900);
    frame(timeline, zoom);
  }
  zoom.print("zoom in and out", "frames");
  window.settle();  // what was asked of the range that was zoomed to
  filters(window);
  searches(window);
  authoring();
  return 0;
}

}  // namespace

int runFrames(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--make") return make(std::stoull(argv[2]), argv[3]);
  if (argc != 2) {
    fmt::print(stderr, "usage: gui_frames [--make N] FILE\n");
    return 2;
  }
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  TimedApplication app(argc, argv);
  applyTheme(ThemeChoice::Dark);
  return measure(app, QString::fromLocal8Bit(argv[1]));
}

}  // namespace kevt::gui

int main(int argc, char** argv) { return kevt::gui::runFrames(argc, argv); }
