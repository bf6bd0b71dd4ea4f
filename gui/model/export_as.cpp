// Every step of the window in a terminal.
//
//   echo 'p:op libc:open64' >> /tmp/t/dynamic_events       kevtrace run -e 'p:op libc:open64' --filter 'op: fd > 2' --
//   CMD target program CMD / p:op libc:open64 / filter fd > 2   (a script: `kevtrace run -p FILE`)
#include "gui/model/export_as.h"

#include <QObject>
#include <QRegularExpression>

#include "gui/model/text_forms.h"

namespace kevt::gui {

QString shellWord(const QString& text) {
  static const QRegularExpression kPlain(QStringLiteral("^[A-Za-z0-9_./:=@%+,-]+$"));
  if (kPlain.match(text).hasMatch()) return text;
  QString out = text;
  return QLatin1Char('\'') + out.replace(QLatin1String("'"), QLatin1String("'\\''")) + QLatin1Char('\'');
}

namespace {

QString shellWords(const QStringList& words) {
  QStringList out;
  for (const QString& word : words) out.append(shellWord(word));
  return out.join(QLatin1Char(' '));
}

}  // namespace

QString asShellScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  const QString directory = target.directory.isEmpty() ? QStringLiteral("/sys/kernel/tracing") : target.directory;
  QStringList lines = {QStringLiteral("#!/bin/sh -e"), QStringLiteral("cd ") + shellWord(directory)};
  for (const WrittenEvent& event : events) {
    const QString folder = QStringLiteral("events/%1/%2").arg(event.group, event.event);
    if (!event.definition.isEmpty())
      lines.append(QStringLiteral("echo %1 >> dynamic_events").arg(shellQuoted(event.definition)));
    if (!event.filter.isEmpty())
      lines.append(QStringLiteral("echo %1 > %2/filter").arg(shellQuoted(event.filter), folder));
    for (const QString& trigger : event.triggers)
      lines.append(QStringLiteral("echo %1 >> %2/trigger").arg(shellQuoted(trigger), folder));
    if (event.is_on) lines.append(QStringLiteral("echo 1 > %1/enable").arg(folder));
  }
  lines.append(QStringLiteral("cat trace_pipe"));
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

QString asCommand(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  QStringList parts = {QStringLiteral("kevtrace run")};
  if (target.pid == 0 && target.command.isEmpty()) parts[0] += QStringLiteral(" --runtime auto");
  bool has_triggers = false;
  for (const WrittenEvent& event : events) {
    if (event.definition.isEmpty() || !event.is_on) continue;
    parts.append(QStringLiteral("-e ") + shellQuoted(event.definition));
    if (!event.filter.isEmpty())
      parts.append(QStringLiteral("--filter ") + shellQuoted(event.event + QStringLiteral(": ") + event.filter));
    has_triggers |= !event.triggers.isEmpty();
  }
  if (!target.command.isEmpty())
    parts.append(QStringLiteral("-- ") + shellWords(target.command));
  else if (target.pid != 0)
    parts.append(QStringLiteral("--pid %1").arg(target.pid));
  QString out = parts.join(QStringLiteral(" \\\n  ")) + QLatin1Char('\n');
  if (has_triggers) out.prepend(QObject::tr("# the triggers are in the script only\n"));
  return out;
}

QString asEventScript(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  QStringList lines;
  if (!target.command.isEmpty())
    lines.append(QStringLiteral("target program ") + shellWords(target.command));
  else if (target.pid != 0)
    lines.append(QStringLiteral("target pid %1").arg(target.pid));
  else
    lines.append(QStringLiteral("target kernel"));
  lines.append(QString());
  for (const WrittenEvent& event : events) {
    lines.append(event.definition.isEmpty() ? QStringLiteral("event %1/%2").arg(event.group, event.event)
                                            : event.definition);
    if (!event.filter.isEmpty()) lines.append(QStringLiteral("  filter ") + event.filter);
    for (const QString& trigger : event.triggers) lines.append(QStringLiteral("  trigger ") + trigger);
    if (!event.is_on) lines.append(QStringLiteral("  enable 0"));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace kevt::gui
