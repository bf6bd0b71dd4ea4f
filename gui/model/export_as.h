// The same thing as what the window does, for a terminal: a shell script, a kevtrace command, a kevtrace script, perf,
// bpftrace.
#pragma once

#include <QMap>
#include <QString>
#include <QStringList>
#include <vector>

namespace kevt::gui {

struct WrittenEvent {
  QString definition;  // a line of dynamic_events; empty: the event is there already
  QString group, event;
  QString filter;  // empty: none
  QStringList triggers;
  bool is_on = true;
};
// What they are for: a command, a process, or (nothing set) the kernel.
struct WrittenTarget {
  QString directory;  // the tracing directory; empty: /sys/kernel/tracing
  QStringList command;
  int pid = 0;
  QMap<QString, QString> files = {};  // of a process: "libc" and "libc.so.6" to their path
};

QString asShellScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
QString asCommand(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
// As `kevtrace fmt` lays it out.
QString asEventScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
// Other tools' own forms; what they cannot say is a comment.
QString asPerfProbe(const std::vector<WrittenEvent>& events, const WrittenTarget& target);
QString asBpftrace(const std::vector<WrittenEvent>& events, const WrittenTarget& target);

// 'quoted' for a shell, where it needs to be.
QString shellWord(const QString& text);

}  // namespace kevt::gui
