// Starting a traced program: `kevtrace mount DIR -- CMD`, as one would in a terminal.
//
// Problem: a pipe to a GUI that crashed ends the program that writes to it, and so does the terminal's hang-up. Idea: a
// session of its own, standard input from nowhere, and a file beside the directory for what is written, which the GUI
// reads as it grows.
#include "gui/model/target_process.h"

#include <signal.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTimer>

namespace kevt::gui {

namespace {
constexpr int kPatienceMs = 5000;
constexpr int kLookEveryMs = 50;
constexpr qint64 kMostOfALook = 1 << 20;
}  // namespace

TargetProcess::TargetProcess(QObject* parent) : QObject(parent), look_(new QTimer(this)) {
  process_.setProcessChannelMode(QProcess::MergedChannels);
  process_.setStandardInputFile(QProcess::nullDevice());
  process_.setChildProcessModifier([] { ::setsid(); });
  look_->setInterval(kLookEveryMs);
  connect(look_, &QTimer::timeout, this, &TargetProcess::takeOutput);
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    look_->stop();
    takeOutput();
    is_mounted_ = false;
    Q_EMIT ended(status == QProcess::CrashExit ? tr("kevtrace mount was ended by a signal")
                                               : tr("kevtrace mount has ended with status %1").arg(code));
  });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      Q_EMIT ended(tr("kevtrace cannot be started: %1").arg(process_.errorString()));
  });
}

TargetProcess::~TargetProcess() {
  disconnect(&process_, nullptr, this, nullptr);
  finish();
}

QString TargetProcess::findKevtrace() {
  if (const QString named = qEnvironmentVariable("KEVTRACE"); !named.isEmpty()) return named;
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/kevtrace");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("kevtrace"));
}

QString TargetProcess::directory() const {
  return directory_ ? directory_->path() + QStringLiteral("/tracing") : QString();
}

// Only what is known to be in such a folder is removed. Whether it is mounted the list of mounts tells: a look at the
// directory itself might wait for a process that is stuck.
void TargetProcess::removeAbandoned(const QString& folder) {
  constexpr qint64 kJustMadeSeconds = 600;
  QFile mounts(QStringLiteral("/proc/self/mountinfo"));
  if (!mounts.open(QIODevice::ReadOnly)) return;
  const QByteArray mounted = mounts.readAll();
  const QDateTime latest = QDateTime::currentDateTime().addSecs(-kJustMadeSeconds);
  for (const QFileInfo& one :
       QDir(folder).entryInfoList({QStringLiteral("kevtrace-gui-*")}, QDir::Dirs | QDir::NoSymLinks)) {
    const QString path = one.absoluteFilePath();
    if (one.ownerId() != ::geteuid() || one.lastModified() > latest ||
        mounted.contains((path + QLatin1Char('/')).toUtf8()))
      continue;
    QFile::remove(path + QStringLiteral("/output"));
    QDir().rmdir(path + QStringLiteral("/tracing"));
    QDir().rmdir(path);
  }
}

void TargetProcess::start(const QStringList& words, const QString& separator, const QStringList& command) {
  finish();
  const QString program = findKevtrace();
  if (program.isEmpty()) {
    Q_EMIT ended(tr("`kevtrace` is not beside this program and not in PATH; KEVTRACE names it"));
    return;
  }
  removeAbandoned(QDir::tempPath());
  directory_ = std::make_unique<QTemporaryDir>(QDir::tempPath() + QStringLiteral("/kevtrace-gui-XXXXXX"));
  rest_.clear();
  pid_ = 0;
  programs_ = 0;
  is_ours_ = !command.isEmpty();
  is_mounted_ = false;
  output_.close();
  output_.setFileName(directory_->filePath(QStringLiteral("output")));
  if (!output_.open(QIODevice::ReadWrite | QIODevice::Truncate)) {
    Q_EMIT ended(output_.fileName() + QStringLiteral(": ") + output_.errorString());
    return;
  }
  process_.setStandardOutputFile(output_.fileName(), QIODevice::Append);
  look_->start();
  QStringList arguments = {QStringLiteral("mount"), directory()};
  arguments += words;
  // For this target alone: another one was not meant.
  if (const QString script = std::exchange(script_, {}); !script.isEmpty()) arguments += {QStringLiteral("-p"), script};
  if (std::exchange(is_unsafe_, false)) arguments.append(QStringLiteral("--unsafe"));
  if (!separator.isEmpty()) arguments.append(separator);
  process_.start(program, arguments + command);
}

QStringList TargetProcess::followWords() const {
  return follows_ ? QStringList{QStringLiteral("--follow-forks")} : QStringList{};
}

// What was recorded is looked at when the program has ended, too.
void TargetProcess::startCommand(const QStringList& command) {
  start(QStringList{QStringLiteral("--keep")} + followWords(), QStringLiteral("--"), command);
}

void TargetProcess::attach(const QList<int>& pids) {
  QStringList numbers;
  for (const int pid : pids) numbers.append(QString::number(pid));
  start(QStringList{QStringLiteral("--pid"), numbers.join(QLatin1Char(','))} + followWords(), {}, {});
}

void TargetProcess::startKernel(const QString& runtime) { start({QStringLiteral("--runtime"), runtime}, {}, {}); }

// kevtrace lets the program go and then waits for its end.
void TargetProcess::endBoth() {
  process_.terminate();
  if (is_ours_ && pid_ > 0) ::kill(pid_, SIGTERM);
}

void TargetProcess::stop() {
  if (!isRunning()) return;
  endBoth();
  QTimer::singleShot(kPatienceMs, &process_, [this, pid = process_.processId()] {
    if (isRunning() && process_.processId() == pid) process_.kill();
  });
}

void TargetProcess::finish() {
  if (!isRunning()) return;
  endBoth();
  if (process_.waitForFinished(kPatienceMs)) return;
  process_.kill();
  process_.waitForFinished(kPatienceMs);
}

void TargetProcess::takeOutput() {
  rest_ += QString::fromUtf8(output_.read(kMostOfALook));
  for (qsizetype end = rest_.indexOf(QLatin1Char('\n')); end >= 0; end = rest_.indexOf(QLatin1Char('\n'))) {
    const QString line = rest_.left(end);
    rest_.remove(0, end + 1);
    takeLine(line);
    Q_EMIT said(line);
  }
  if (rest_.size() > 65536) rest_.clear();
}

// kevtrace's own lines name the directory, which what is traced does not know.
void TargetProcess::takeLine(const QString& line) {
  const QString begin = QStringLiteral("kevtrace: mounted on %1: ").arg(directory());
  const QString end = QStringLiteral(" has ended; %1 stays until Ctrl-C or umount").arg(directory());
  if (line.startsWith(begin)) {
    static const QRegularExpression kProcess(QStringLiteral("^process (\\d+)"));
    const auto process = kProcess.match(line.mid(begin.size()));
    if (process.hasMatch()) ++programs_;
    if (std::exchange(is_mounted_, true)) return;
    pid_ = process.captured(1).toInt();
    Q_EMIT mounted(directory(), pid_);
  } else if (line.endsWith(end) && programs_ > 0 && --programs_ == 0) {
    Q_EMIT programsEnded();
  }
}

}  // namespace kevt::gui
