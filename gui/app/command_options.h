// The command line of kevtrace-gui: one table for --help, the manual page and what is read.
#pragma once

#include <QCommandLineOption>
#include <QCommandLineParser>
#include <QList>
#include <QString>

namespace kevt::gui {

struct CommandOptions {
  CommandOptions();
  void addTo(QCommandLineParser& parser) const;
  QList<QCommandLineOption> all() const;

  QCommandLineOption session, screenshot, after, theme, size, probes, event, pid, comm, cgroup, container, follow,
      with_kernel, script, unsafe, tracefs, runtime, last, apply, btf, kallsyms, most_records, memory, manual;
};

// In man(7).
QString manualPage(const CommandOptions& options);

}  // namespace kevt::gui
