// TargetProcess: what is traced by a tracer of its own (session::TracerProcess), for Qt's loop of events: news come as
// signals.
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

  // The kevtrace beside this program, $KEVTRACE, or the one in PATH; empty: none.
  static QString findKevtrace() { return QString::fromStdString(session::TracerProcess::find_kevtrace()); }
  // Of the next target: the programs that it starts or becomes by exec are traced, too.
  void setFollowing(bool on) { follows_ = on; }
  bool isFollowing() const { return follows_; }
  // Of the next target: a script that the tracer takes before the program runs, compiled or with what no file of a
  // tracing directory can say (`inject`, which wants `is_unsafe`). Empty: none.
  void setScript(const QString& path, bool is_unsafe) {
    script_ = path;
    is_unsafe_ = is_unsafe;
  }
  void startCommand(const QStringList& command);
  void attach(const QList<int>& pids);
  void startKernel(const QString& runtime);  // "bpf" or "kmod": the running kernel, whose process is 0
  // Everything is taken out of the target again, and a program that was started here is ended; ended() tells when.
  void stop();
  void finish();  // the same, and waits for it
  bool isRunning() const { return tracer_ && tracer_->is_running(); }
  QString directory() const { return tracer_ ? QString::fromStdString(tracer_->directory()) : QString(); }
  int pid() const { return tracer_ ? tracer_->traced_pid() : 0; }
  qint64 mountPid() const { return isRunning() ? tracer_->pid() : 0; }  // of kevtrace

 Q_SIGNALS:
  void mounted(const QString& directory, int pid);
  void said(const QString& line);  // what it or the command writes
  void programsEnded();            // of all that is traced; the directory stays
  void ended(const QString& text);

 private:
  void start(session::TracerRequest request);
  void look();

  std::unique_ptr<session::TracerProcess> tracer_;
  QTimer timer_;
  bool follows_ = false;
  QString script_;
  bool is_unsafe_ = false;
};

}  // namespace kevt::gui
