// TargetProcess: a target with a tracer of its own (session::TracerProcess), for Qt's event loop: news come as signals.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <memory>

#include "runtime-user/session/client/tracer_process.h"

namespace kevt::gui {

class TargetProcess : public QObject {
  Q_OBJECT

 public:
  explicit TargetProcess(QObject* parent = nullptr);
  ~TargetProcess() override;

  // $KEVTRACE, the kevtrace beside this program, or the one in PATH; empty: none.
  static QString findKevtrace() { return QString::fromStdString(session::TracerProcess::find_kevtrace()); }
  // For targets from now on: also trace the programs that they start or become by exec.
  void setFollowing(bool on) { follows_ = on; }
  bool isFollowing() const { return follows_; }
  // From the next target on the kernel is traced beside it, by this runtime; empty: it is not.
  void setWithKernel(const QString& runtime) { with_kernel_ = runtime; }
  const QString& withKernel() const { return with_kernel_; }
  // For the next target: a script that the tracer applies before the program runs. It may be compiled, or have lines
  // that no file of a tracing directory takes (`inject`, which needs `is_unsafe`). Empty: none.
  void setScript(const QString& path, bool is_unsafe) {
    script_ = path;
    is_unsafe_ = is_unsafe;
  }
  void startCommand(const QStringList& command);
  void attach(const QList<int>& pids);
  void attach(const proc::ProcessChoice& choice);  // processes that run, and those that come later
  void startKernel(const QString& runtime);        // "bpf" or "kmod": the running kernel, whose process is 0
  // Asks the tracer to remove all probes, and ends a program that was started here; ended() follows.
  void stop();
  void finish();  // stop(), then waits for the end
  bool isRunning() const { return tracer_ && tracer_->is_running(); }
  QString directory() const { return tracer_ ? QString::fromStdString(tracer_->directory()) : QString(); }
  int pid() const { return tracer_ ? tracer_->traced_pid() : 0; }
  qint64 mountPid() const { return isRunning() ? tracer_->pid() : 0; }  // of kevtrace

 Q_SIGNALS:
  void mounted(const QString& directory, int pid);
  void said(const QString& line);  // a line that the tracer or the command wrote
  void programsEnded();            // all traced programs; the directory stays
  void ended(const QString& text);

 private:
  void start(session::TracerRequest request);
  void look();

  std::unique_ptr<session::TracerProcess> tracer_;
  QTimer timer_;
  bool follows_ = false;
  QString with_kernel_;
  QString script_;
  bool is_unsafe_ = false;
};

}  // namespace kevt::gui
