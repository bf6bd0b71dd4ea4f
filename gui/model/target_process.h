// TargetProcess: `kevtrace mount` as a child: it starts or seizes what is traced and serves its tracing directory.
//
// The recording lives there and not in the GUI: when the GUI is gone the directory still is, and --tracefs (or --last)
// takes it up again. So the two share nothing that ends with the GUI: what the target writes goes to a file.
#pragma once

#include <QFile>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <memory>

class QTemporaryDir;
class QTimer;

namespace kevt::gui {

class TargetProcess : public QObject {
  Q_OBJECT

 public:
  explicit TargetProcess(QObject* parent = nullptr);
  ~TargetProcess() override;

  // The kevtrace beside this program, $KEVTRACE, or the one in PATH; empty: none.
  static QString findKevtrace();
  // What targets of killed windows have left in `folder`: theirs, not mounted any more, and not just made.
  static void removeAbandoned(const QString& folder);
  // Of the next target: the programs that it starts or becomes by exec are traced, too.
  void setFollowing(bool on) { follows_ = on; }
  bool isFollowing() const { return follows_; }
  // Of the next target: a script that the tracer takes before the program runs, compiled or with what no file of a
  // tracing directory can say (`inject`, which wants `is_unsafe`). Empty: none.
  void setScript(const QString& path, bool is_unsafe) {
    script_ = path;
    is_unsafe_ = is_unsafe;
  }
  // The directory is made in a temporary place.
  void startCommand(const QStringList& command);
  void attach(const QList<int>& pids);
  void startKernel(const QString& runtime);  // "bpf" or "kmod": the running kernel, whose process is 0
  // Everything is taken out of the target again, and a program that was started here is ended; ended() tells when.
  void stop();
  void finish();  // the same, and waits for it
  bool isRunning() const { return process_.state() != QProcess::NotRunning; }
  QString directory() const;
  int pid() const { return pid_; }
  qint64 mountPid() const { return process_.processId(); }  // of kevtrace

 Q_SIGNALS:
  void mounted(const QString& directory, int pid);
  void said(const QString& line);  // what it or the command writes
  void programsEnded();            // of all that is traced; the directory stays
  void ended(const QString& text);

 private:
  void start(const QStringList& words, const QString& separator, const QStringList& command);
  QStringList followWords() const;
  void takeOutput();
  void takeLine(const QString& line);
  void endBoth();

  QProcess process_;
  QFile output_;
  QTimer* look_;
  std::unique_ptr<QTemporaryDir> directory_;
  QString rest_;
  int pid_ = 0;
  int programs_ = 0;  // that are traced and have not ended
  bool is_mounted_ = false;
  bool follows_ = false;
  QString script_;
  bool is_unsafe_ = false;
  bool is_ours_ = false;  // the program was started here, not attached to
};

}  // namespace kevt::gui
