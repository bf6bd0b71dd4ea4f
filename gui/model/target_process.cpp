#include "gui/model/target_process.h"

#include <signal.h>

#include <utility>

namespace kevt::gui {

namespace {
constexpr std::chrono::milliseconds kPatience{5000};
constexpr int kLookEveryMs = 50;
}  // namespace

TargetProcess::TargetProcess(QObject* parent) : QObject(parent) {
  timer_.setInterval(kLookEveryMs);
  connect(&timer_, &QTimer::timeout, this, &TargetProcess::look);
}

TargetProcess::~TargetProcess() { finish(); }

void TargetProcess::start(session::TracerRequest request) {
  finish();
  tracer_.reset();
  // The script is for this target only.
  request.follows = follows_;
  request.with_kernel = with_kernel_.toStdString();
  request.script = std::exchange(script_, {}).toStdString();
  request.is_unsafe = std::exchange(is_unsafe_, false);
  const QString program = findKevtrace();
  if (program.isEmpty()) {
    Q_EMIT ended(tr("`kevtrace` is not beside this program and not in PATH; KEVTRACE names it"));
    return;
  }
  auto started = session::TracerProcess::start(program.toStdString(), request);
  if (!started) {
    Q_EMIT ended(tr("kevtrace cannot be started: %1").arg(QString::fromStdString(started.error().message())));
    return;
  }
  tracer_ = *std::move(started);
  timer_.start();
}

void TargetProcess::startCommand(const QStringList& command) {
  session::TracerRequest request;
  for (const QString& word : command) request.command.push_back(word.toStdString());
  start(std::move(request));
}

void TargetProcess::attach(const QList<int>& pids) {
  session::TracerRequest request;
  request.pids.assign(pids.begin(), pids.end());
  start(std::move(request));
}

void TargetProcess::attach(const proc::ProcessChoice& choice) {
  session::TracerRequest request;
  request.choice = choice;
  start(std::move(request));
}

void TargetProcess::startKernel(const QString& runtime) {
  session::TracerRequest request;
  request.runtime = runtime.toStdString();
  start(std::move(request));
}

void TargetProcess::stop() {
  if (!isRunning()) return;
  tracer_->terminate();
  QTimer::singleShot(kPatience, this, [this, pid = tracer_->pid()] {
    if (isRunning() && tracer_->pid() == pid) ::kill(pid, SIGKILL);
  });
}

void TargetProcess::finish() {
  timer_.stop();
  if (tracer_) tracer_->finish(kPatience);
}

// A receiver of one signal may start another target.
void TargetProcess::look() {
  const session::TracerProcess::News news = tracer_->look();
  const auto is_same = [this, pid = tracer_->pid()] { return tracer_ && tracer_->pid() == pid; };
  if (news.is_mounted) Q_EMIT mounted(directory(), pid());
  for (const std::string& line : news.lines)
    if (is_same()) Q_EMIT said(QString::fromStdString(line));
  if (news.programs_ended && is_same()) Q_EMIT programsEnded();
  if (!news.ended || !is_same()) return;
  timer_.stop();
  Q_EMIT ended(QString::fromStdString(*news.ended));
}

}  // namespace kevt::gui
