#include "gui/app/command_options.h"

#include <QStringList>

#include "gui/model/trace_document.h"

namespace kevt::gui {
namespace {

const char* const kWhat = "Author probes, watch them, see the trace as a timeline.";
const char* const kExamples[] = {"kevtrace-gui trace.dat",
                                 "kevtrace-gui -e 'p:op libc:open64 path=+0(%di):string' -- python3 server.py",
                                 "kevtrace-gui --tracefs /sys/kernel/tracing",
                                 "kevtrace-gui --session s.kevs --screenshot s.png --platform offscreen"};

// For man(7).
QString escaped(QString text) {
  text.replace(QLatin1Char('\\'), QLatin1String("\\e")).replace(QLatin1Char('-'), QLatin1String("\\-"));
  return text.startsWith(QLatin1Char('.')) || text.startsWith(QLatin1Char('\'')) ? QLatin1String("\\&") + text : text;
}

QString named(const QCommandLineOption& option) {
  QStringList names;
  for (const QString& name : option.names())
    if (name != QLatin1String("open-session"))  // what stands for --session, which Qt keeps for itself
      names.append(QLatin1String("\\fB") + escaped((name.size() > 1 ? "--" : "-") + name) + QLatin1String("\\fR"));
  const QString value =
      option.valueName().isEmpty() ? QString() : QStringLiteral(" \\fI%1\\fR").arg(option.valueName());
  return names.join(QLatin1String(", ")) + value;
}

}  // namespace

CommandOptions::CommandOptions()
    : session({QStringLiteral("session"), QStringLiteral("open-session")}, QStringLiteral("open a session (.kevs)"),
              QStringLiteral("FILE")),
      screenshot(QStringLiteral("screenshot"), QStringLiteral("write a picture of the window and end"),
                 QStringLiteral("FILE")),
      after(QStringLiteral("after"), QStringLiteral("take the screenshot when so many seconds have passed"),
            QStringLiteral("SEC"), QStringLiteral("0")),
      theme(QStringLiteral("theme"), QStringLiteral("light, dark or system"), QStringLiteral("NAME"),
            QStringLiteral("system")),
      size(QStringLiteral("size"), QStringLiteral("size of the window"), QStringLiteral("WxH"),
           QStringLiteral("1500x940")),
      probes({QStringLiteral("p"), QStringLiteral("probes")}, QStringLiteral("definitions for the editor"),
             QStringLiteral("FILE")),
      event({QStringLiteral("e"), QStringLiteral("event")}, QStringLiteral("a definition for the editor"),
            QStringLiteral("DEF")),
      pid(QStringLiteral("pid"), QStringLiteral("trace running processes"), QStringLiteral("PID[,PID…]")),
      comm(QStringLiteral("comm"), QStringLiteral("trace processes of this name, also those that come later"),
           QStringLiteral("NAME")),
      cgroup(QStringLiteral("cgroup"), QStringLiteral("likewise, in this control group"), QStringLiteral("PATH")),
      container(QStringLiteral("container"), QStringLiteral("likewise, in this container"), QStringLiteral("ID")),
      follow(QStringLiteral("follow-forks"),
             QStringLiteral("trace also the programs that the target starts or becomes by exec")),
      with_kernel(QStringLiteral("with-kernel"),
                  QStringLiteral("trace the kernel beside the target: auto, bpf or kmod"), QStringLiteral("NAME")),
      script(
          QStringLiteral("script"),
          QStringLiteral("a script that the tracer takes before the program runs: compiled (.kevo), or with `inject`"),
          QStringLiteral("FILE")),
      unsafe(QStringLiteral("unsafe"), QStringLiteral("the script may inject")),
      tracefs(QStringLiteral("tracefs"), QStringLiteral("a tracing directory that is there already"),
              QStringLiteral("DIR")),
      runtime(QStringLiteral("runtime"), QStringLiteral("trace the running kernel: bpf or kmod"),
              QStringLiteral("NAME")),
      last(QStringLiteral("last"), QStringLiteral("open what was shown last; after a crash, what still records")),
      apply(QStringLiteral("apply"), QStringLiteral("apply the definitions as soon as the target is there")),
      btf(QStringLiteral("btf"), QStringLiteral("types of a kernel that is not here"), QStringLiteral("FILE")),
      kallsyms(QStringLiteral("kallsyms"), QStringLiteral("functions of a kernel that is not here"),
               QStringLiteral("FILE")),
      most_records(QStringLiteral("most-records"),
                   QStringLiteral("of a database (ch://…): how many records are loaded at a time, at most"),
                   QStringLiteral("N"), QString::number(TraceDocument::kMostRecords)),
      memory(QStringLiteral("memory"),
             QStringLiteral("megabytes of memory for records; the rest is kept in a file in $TMPDIR or /var/tmp"),
             QStringLiteral("MB")),
      manual(QStringLiteral("manual"), QStringLiteral("print the manual page")) {
  manual.setFlags(QCommandLineOption::HiddenFromHelp);
}

QList<QCommandLineOption> CommandOptions::all() const {
  return {session, screenshot, after,     theme,  size,        probes,       event,  pid,
          comm,    cgroup,     container, follow, with_kernel, script,       unsafe, tracefs,
          runtime, last,       apply,     btf,    kallsyms,    most_records, memory, manual};
}

void CommandOptions::addTo(QCommandLineParser& parser) const {
  QString text = QString::fromLatin1(kWhat) + QLatin1Char('\n');
  for (const char* example : kExamples) text += QStringLiteral("\n  ") + QString::fromLatin1(example);
  parser.setApplicationDescription(text);
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("FILE"), QStringLiteral("a recording"),
                               QStringLiteral("[FILE | -- CMD …]"));
  parser.addOptions(all());
}

QString manualPage(const CommandOptions& options) {
  QString text = QStringLiteral(
                     ".TH KEVTRACE\\-GUI 1 %1 \"kevtrace %2\" \"User Commands\"\n.SH NAME\n"
                     "kevtrace\\-gui \\- definitions, live timelines and recordings in a window\n"
                     ".SH SYNOPSIS\n.B kevtrace\\-gui\n[\\fIOPTIONS\\fR] [\\fIFILE\\fR | \\-\\- \\fICMD\\fR ...]\n"
                     ".SH DESCRIPTION\n%3\n.PP\nFILE is a recording. CMD is a program, traced from its start. "
                     "Qt\\(aqs own options work, too, as \\fB\\-\\-platform offscreen\\fR.\n.SH OPTIONS\n")
                     .arg(QStringLiteral(KEVT_DATE), QStringLiteral(KEVT_VERSION), QString::fromLatin1(kWhat));
  for (const QCommandLineOption& option : options.all())
    if (!(option.flags() & QCommandLineOption::HiddenFromHelp))
      text += QStringLiteral(".TP\n%1\n%2\n").arg(named(option), escaped(option.description()));
  text += QStringLiteral(".SH EXAMPLES\n.nf\n");
  for (const char* example : kExamples) text += escaped(QString::fromLatin1(example)) + QLatin1Char('\n');
  text += QStringLiteral(
      ".fi\n.SH FILES\n.TP\n\\fI~/.config/kevtrace/kevtrace\\-gui.conf\\fR\n"
      "how the workspaces were left\n.SH SEE ALSO\n\\fBkevtrace\\fR(1)\n");
  return text;
}

}  // namespace kevt::gui
