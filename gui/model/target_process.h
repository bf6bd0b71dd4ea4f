// TargetProcess: `kevtrace mount` as a child: it starts or seizes what is traced and serves its tracing directory.
//
// The recording lives there and not in the GUI: when the GUI is gone the directory still is, and --tracefs takes it up
// again.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <memory>

class QTemporaryDir;

namespace kevt::gui {

class TargetProcess : public QObject {
  Q_OBJECT

 public:
  explicit TargetProcess(QObject* parent = nullptr);
  ~TargetProcess() override;

  // The kevtrace beside this program, $KEVTRACE, or the one in PATH; empty: none.
  static QString findKevtrace();
  // The directory is made in a temporary place.
  void startCommand(const QStringList& command);
  void attach(const QList<int>& pids);
  void stop();    // everything is taken out of the target again; ended() tells when
  void finish();  // the same, and waits for it
  bool isRunning() const { return process_.state() != QProcess::NotRunning; }
  QString directory() const;
  int pid() const { return pid_; }

 Q_SIGNALS:
  void mounted(const QString& directory, int pid);
  void said(const QString& line);  // what it or the command writes
  void ended(const QString& text);

 private:
  void start(const QStringList& words, const QString& separator, const QStringList& command);
  void takeOutput();

  QProcess process_;
  std::unique_ptr<QTemporaryDir> directory_;
  QString rest_;
  int pid_ = 0;
  bool is_mounted_ = false;
};

}  // namespace kevt::gui
