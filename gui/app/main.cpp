// kevtrace-gui: reads its command line, opens the window.
//
//   kevtrace-gui trace.dat                      a recording
//   kevtrace-gui -p probes.kev -- python3 x.py  a program, traced from its start, with these definitions in the editor
//   kevtrace-gui --tracefs /sys/kernel/tracing  the kernel's own directory, or one that `kevtrace mount` serves
//   kevtrace-gui --session s.kevs --screenshot s.png --platform offscreen
#include <unistd.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QDeadlineTimer>
#include <QFile>
#include <QFileInfo>
#include <QSettings>
#include <QStandardPaths>
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <span>

#include "common/controls.h"
#include "common/process_choice.h"
#include "common/standard_descriptors.h"
#include "compiler/script/compiled_script.h"
#include "gui/app/command_options.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/app/workspaces.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/view/definition_editor.h"
#include "gui/view/theme.h"
#include "gui/view/wait_for_events.h"

namespace kevt::gui {
namespace {

int fail(const QString& text) {
  std::string line = text.toStdString();
  escape_from(0, controls_for(STDERR_FILENO), line);
  std::fprintf(stderr, "kevtrace-gui: %s\n", line.c_str());
  return 1;
}

QString definitions(const QCommandLineParser& parser, const CommandOptions& options, QString& error) {
  QStringList lines = parser.values(options.event);
  for (const QString& path : parser.values(options.probes)) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) error = path + QStringLiteral(": ") + file.errorString();
    const QByteArray bytes = file.read(1 << 20);
    if (script::is_compiled_script({bytes.data(), static_cast<std::size_t>(bytes.size())}))
      error = path + QStringLiteral(" is a compiled script, which --script takes");
    if (!error.isEmpty()) return {};
    lines.append(QString::fromUtf8(bytes));
  }
  return lines.join(QLatin1Char('\n'));
}

proc::ProcessChoice choice_in(const QCommandLineParser& parser, const CommandOptions& options) {
  const auto values = [&](const QCommandLineOption& option) {
    std::vector<std::string> texts;
    for (const QString& value : parser.values(option)) texts.push_back(value.toLocal8Bit().toStdString());
    return texts;
  };
  return {.comms = values(options.comm), .cgroups = values(options.cgroup), .containers = values(options.container)};
}

// Opens in the window what the command line names.
int open(MainWindow& window, const QCommandLineParser& parser, const CommandOptions& options,
         const QStringList& command) {
  QString error;
  const QString text = definitions(parser, options, error);
  if (!error.isEmpty()) return fail(error);
  if (!text.isEmpty()) window.probes().editor().replaceText(text);
  // With --screenshot nobody can answer a question; --tracefs says which directory to follow.
  const bool is_said = parser.isSet(options.screenshot) || parser.isSet(options.tracefs);
  const auto following = is_said ? MainWindow::Following::Leaves : MainWindow::Following::Asks;
  if (parser.isSet(options.session))
    if (auto opened = window.openSession(parser.value(options.session), following); !opened)
      return fail(QString::fromStdString(opened.error().message()));
  if (parser.isSet(options.last))
    if (auto opened = window.openSession(
            QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/last.kevs"),
            MainWindow::Following::Follows);  // our own
        !opened)
      return fail(QString::fromStdString(opened.error().message()));
  bool is_number = false;
  const qulonglong most = parser.value(options.most_records).toULongLong(&is_number);
  if (!is_number || most == 0)
    return fail(QStringLiteral("--most-records: a number of records, not ") + parser.value(options.most_records));
  window.document().setMostRecords(most);
  if (parser.isSet(options.memory)) {
    const qulonglong megabytes = parser.value(options.memory).toULongLong(&is_number);
    if (!is_number || megabytes > MainWindow::kMostMemoryMb)
      return fail(QStringLiteral("--memory: a number of megabytes, not ") + parser.value(options.memory));
    window.document().setMemory(megabytes << 20);
  }
  if (!parser.positionalArguments().isEmpty() && command.isEmpty())
    window.openTrace(parser.positionalArguments().first());
  const auto start = parser.isSet(options.apply) ? MainWindow::Start::Applies : MainWindow::Start::Waits;
  if (parser.isSet(options.btf) || parser.isSet(options.kallsyms)) {
    for (const QString& path : {parser.value(options.btf), parser.value(options.kallsyms)})
      if (!path.isEmpty() && !QFileInfo(path).isReadable()) return fail(path + QStringLiteral(": cannot be read"));
    window.useKernelFiles(parser.value(options.kallsyms), parser.value(options.btf));
  }
  window.target().setFollowing(parser.isSet(options.follow));
  if (const QString beside = parser.value(options.with_kernel); !beside.isEmpty()) {
    if (beside != QLatin1String("auto") && beside != QLatin1String("bpf") && beside != QLatin1String("kmod"))
      return fail(QStringLiteral("--with-kernel: auto, bpf or kmod, not ") + beside);
    window.target().setWithKernel(beside);
  }
  window.target().setScript(parser.value(options.script), parser.isSet(options.unsafe));
  if (!command.isEmpty()) window.startTarget(command, start);
  if (const QString runtime = parser.value(options.runtime); !runtime.isEmpty()) {
    if (runtime != QLatin1String("bpf") && runtime != QLatin1String("kmod"))
      return fail(QStringLiteral("--runtime: bpf or kmod, not ") + runtime);
    window.traceKernel(runtime, start);
  }
  if (parser.isSet(options.tracefs)) {
    if (!QFileInfo(parser.value(options.tracefs) + QStringLiteral("/events")).isDir())
      return fail(parser.value(options.tracefs) + QStringLiteral(": no tracing directory (it has no `events`)"));
    window.openDirectory(parser.value(options.tracefs), parser.value(options.pid).toInt());
  } else if (parser.isSet(options.pid)) {
    QList<int> pids;
    for (const QString& pid : parser.value(options.pid).split(QLatin1Char(','))) pids.append(pid.toInt());
    if (pids.contains(0)) return fail(QStringLiteral("--pid: no process number: ") + parser.value(options.pid));
    window.attachTo(pids, start);
  } else if (const proc::ProcessChoice choice = choice_in(parser, options); !choice.empty()) {
    window.attachTo(choice, start);
  }
  return 0;
}

// Help and a picture need no display. Without one Qt would abort; false: that was said instead.
bool chooses_platform(std::span<char*> words) {
  const auto has = [words](std::initializer_list<QByteArrayView> wanted) {
    return std::ranges::any_of(words, [&](const char* word) {
      return std::ranges::any_of(wanted, [&](QByteArrayView one) {
        return one == word || (one.startsWith("--") && QByteArray(word).startsWith(one.toByteArray() + "="));
      });
    });
  };
  const auto is_set = [](const char* name) { return !qEnvironmentVariableIsEmpty(name); };
  if (has({"--platform", "-platform", "-display", "--display"}) || is_set("QT_QPA_PLATFORM")) return true;
  const bool needs_none = has({"-h", "--help", "--help-all", "-v", "--version", "--manual"});
  if (!needs_none && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))) return true;
  if (needs_none || has({"--screenshot"})) return qputenv("QT_QPA_PLATFORM", "offscreen");
  fail(
      QStringLiteral("no display: neither DISPLAY nor WAYLAND_DISPLAY is set; --screenshot FILE needs none, nor does "
                     "the command kevtrace"));
  return false;
}

}  // namespace

int run(int argc, char** argv) {
  QStringList command;
  for (int i = 1; i < argc; ++i) {
    if (QByteArrayView(argv[i]) != "--") continue;
    for (int j = i + 1; j < argc; ++j) command.append(QString::fromLocal8Bit(argv[j]));
    argc = i;
  }
  // Qt keeps `--session` for the session manager's own numbers and would swallow ours.
  static char session[] = "--open-session";
  for (int i = 1; i < argc; ++i)
    if (QByteArrayView(argv[i]) == "--session") argv[i] = session;
  if (!chooses_platform({argv, argv + argc})) return 1;
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("kevtrace-gui"));
  QApplication::setApplicationVersion(QStringLiteral(KEVT_VERSION));
  QCommandLineParser parser;
  const CommandOptions options;
  options.addTo(parser);
  parser.process(app);
  if (parser.isSet(options.manual)) {
    std::fputs(manualPage(options).toUtf8().constData(), stdout);
    return 0;
  }
  const QString theme = parser.value(options.theme);
  if (theme != QLatin1String("light") && theme != QLatin1String("dark") && theme != QLatin1String("system"))
    return fail(QStringLiteral("--theme: light, dark or system, not ") + theme);
  applyTheme(theme == QLatin1String("dark")    ? ThemeChoice::Dark
             : theme == QLatin1String("light") ? ThemeChoice::Light
                                               : ThemeChoice::System);
  MainWindow window;
  QSettings settings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("kevtrace"),
                     QStringLiteral("kevtrace-gui"));
  if (!parser.isSet(options.screenshot) && qEnvironmentVariableIsEmpty("KEVTRACE_GUI_NO_AUTOSAVE")) {
    window.workspaces().load(settings);
    bool is_number = false;
    const qulonglong megabytes = settings.value(QStringLiteral("memory")).toULongLong(&is_number);
    if (is_number && megabytes <= MainWindow::kMostMemoryMb) window.document().setMemory(megabytes << 20);
    window.recentTraces() = settings.value(QStringLiteral("recent")).toStringList().mid(0, MainWindow::kMostRecent);
    QObject::connect(&app, &QApplication::aboutToQuit, &window, [&] {
      window.workspaces().save(settings);
      settings.setValue(QStringLiteral("recent"), window.recentTraces());
      if (!parser.isSet(options.memory))
        settings.setValue(QStringLiteral("memory"), qulonglong{window.document().memory() >> 20});
    });
  }
  const QStringList size = parser.value(options.size).split(QLatin1Char('x'));
  window.resize(std::clamp(size.value(0).toInt(), 400, 8000), std::clamp(size.value(1).toInt(), 300, 8000));
  window.show();
  if (const int status = open(window, parser, options, command)) return status;
  const bool is_bare = command.isEmpty() && parser.optionNames().isEmpty() && parser.positionalArguments().isEmpty();
  if (is_bare && qEnvironmentVariableIsEmpty("KEVTRACE_GUI_NO_AUTOSAVE") &&
      !settings.value(QStringLiteral("guide/shown")).toBool()) {
    settings.setValue(QStringLiteral("guide/shown"), true);
    window.showGuide();
  }
  if (!parser.isSet(options.screenshot)) return QApplication::exec();
  const double seconds = parser.value(options.after).toDouble();
  for (QDeadlineTimer patience(static_cast<qint64>(std::clamp(seconds, 0.0, 3600.0) * 1000)); !patience.hasExpired();)
    waitForEvents(20);
  window.settle();
  if (auto saved = saveScreenshot(window, parser.value(options.screenshot)); !saved)
    return fail(QString::fromStdString(saved.error().message()));
  return 0;
}

}  // namespace kevt::gui

int main(int argc, char** argv) {
  kevt::reserve_standard_descriptors();
  return kevt::gui::run(argc, argv);
}
