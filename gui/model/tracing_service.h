// TracingService: a tracing directory on a thread of its own. The UI asks and never waits; every write is reported with
// the equal shell command.
#pragma once

#include <QObject>
#include <QString>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gui/model/live_state.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::gui {

class LiveReader;

// One write to a file of the directory; or the making or removing of a folder (an instance).
struct FileWrite {
  enum class Folder { None, Make, Remove };
  QString path;
  QString text;
  bool adds = true;  // `>>`
  QString error;     // empty: it succeeded
  Folder folder = Folder::None;
  QString asCommand() const;
};

class TracingService : public QObject {
  Q_OBJECT

 public:
  explicit TracingService(QObject* parent = nullptr);
  ~TracingService() override;

  // `directory`: our mount, or the kernel's own tracefs. `pid`: the traced process, for names of its functions; 0:
  // none. `room`: for the records that are read.
  void start(const QString& directory, int pid, const record::StoreRoom& room = {});
  void stop();
  bool isRunning() const { return thread_.joinable(); }
  QString directory() const { return directory_; }

  // Runs `task` on the service's thread, in the order of calls.
  void post(std::function<void(tree::TracingDir&)> task);
  // Carries out the writes one after the other until one fails; `done` runs in the caller's thread, with the writes
  // that were tried.
  void write(std::vector<FileWrite> writes, std::function<void(const std::vector<FileWrite>&)> done);
  void read(const QString& path, std::function<void(bool, const QString&)> done);
  void list(const QString& path, std::function<void(bool, const std::vector<tree::DirectoryEntry>&)> done);
  // Whether the buffers are read; on after start(). While off, a full buffer keeps its newest or its oldest records.
  void setReading(bool reads);
  // Reads what the buffers have now; `done` runs in the caller's thread, after recordsRead.
  void readOut(std::function<void()> done);
  void refresh();  // reads the state soon

 Q_SIGNALS:
  void stateRead(const kevt::gui::LiveState& state);
  void recordsRead(const kevt::record::StoreView& view, std::shared_ptr<const kevt::record::Metadata> metadata);
  void written(const kevt::gui::FileWrite& write);
  void failed(const QString& text);    // the directory is gone
  void roomTold(const QString& text);  // records do not fit into the memory that is set, or do not fit at all

 private:
  void run(std::stop_token stop, std::string directory, int pid, const record::StoreRoom& room);
  void deliver(std::function<void()> call);

  QString directory_;
  std::mutex mutex_;  // tasks_, read_out_, reads_, refresh_
  std::condition_variable_any wake_;
  std::deque<std::function<void(tree::TracingDir&)>> tasks_;
  std::vector<std::function<void()>> read_out_;
  bool reads_ = true;
  bool refresh_ = false;
  quint64 generation_ = 0;  // counts start(); results of an earlier start are dropped
  std::jthread thread_;
};

}  // namespace kevt::gui
