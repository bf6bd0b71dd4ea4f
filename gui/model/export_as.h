// Writes what the window does as text for a terminal: a shell script, a kevtrace command, a kevtrace script, perf,
// bpftrace.
#pragma once

#include <QMap>
#include <QString>
#include <QStringList>
#include <vector>

namespace kevt::gui {

struct WrittenEvent {
  QString definition;  // a line of dynamic_events; empty: the event exists already
  QString group, event;
  QString filter;  // empty: none
  QStringList triggers;
  bool is_on = true;
};
// The target of the events: a command, a process, or (nothing set) the kernel.
struct WrittenTarget {
  QString directory;  // the tracing directory; empty: /sys/kernel/tracing
  QStringList command;
  int pid = 0;
  QMap<QString, QString> files = {};  // of a process: "libc" and "libc.so.6" → path
};

QString asShellScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
QString asCommand(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
// In the layout of `kevtrace fmt`.
QString asEventScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
// Forms of other tools; a comment names what a tool cannot express.
QString asPerfProbe(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
QString asBpftrace(const std::vector<WrittenEvent>& events, const WrittenTarget& target);

// 'quoted' for a shell, where it needs to be.
QString shellWord(const QString& text);

}  // namespace kevt::gui
