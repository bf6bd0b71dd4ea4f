// A tracing directory on a thread of its own.
//
// A file of a mount waits for the process behind the mount, which may hang: so the UI thread touches no such file. Ten
// times a second the service's thread carries out tasks and reads new records, and twice a second it reads the state of
// the events.
#include "gui/model/tracing_service.h"

#include <QElapsedTimer>
#include <QMetaObject>
#include <chrono>

#include "gui/model/live_reader.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {
namespace {
constexpr auto kRound = std::chrono::milliseconds(60);
constexpr auto kShortRound = std::chrono::milliseconds(4);  // when much comes
constexpr qint64 kShowMs = 60;                              // between views of the records
constexpr qint64 kStateEveryMs = 500;
constexpr qint64 kReadOutMs = 2000;  // the target may write as fast as we read

}  // namespace

QString FileWrite::asCommand() const {
  if (folder != Folder::None)
    return QStringLiteral("%1 %2").arg(folder == Folder::Make ? QStringLiteral("mkdir") : QStringLiteral("rmdir"),
                                       shellQuoted(path));
  return QStringLiteral("echo %1 %2 %3")
      .arg(shellQuoted(text), adds ? QStringLiteral(">>") : QStringLiteral(">"), path);
}

namespace {

Result<void> carryOut(const FileWrite& one, tree::TracingDir& directory) {
  const std::string path = one.path.toStdString();
  if (one.folder == FileWrite::Folder::Make) return directory.make_directory(path);
  if (one.folder == FileWrite::Folder::Remove) return directory.remove_directory(path);
  std::string text = one.text.toStdString();
  if (!text.empty()) text += '\n';
  return directory.write(path, text, one.adds ? tree::WriteMode::Add : tree::WriteMode::Replace);
}

}  // namespace

TracingService::TracingService(QObject* parent) : QObject(parent) {}
TracingService::~TracingService() { stop(); }

void TracingService::start(const QString& directory, int pid, const record::StoreRoom& room) {
  stop();
  ++generation_;
  directory_ = directory;
  tasks_.clear();
  read_out_.clear();
  reads_ = true;
  thread_ = std::jthread(
      [this, path = directory.toStdString(), pid, room](std::stop_token stop) { run(stop, path, pid, room); });
}

void TracingService::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake_.notify_all();
  thread_.join();
}

void TracingService::post(std::function<void(tree::TracingDir&)> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_all();
}

void TracingService::setReading(bool reads) {
  const std::lock_guard lock(mutex_);
  reads_ = reads;
}

void TracingService::readOut(std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    read_out_.push_back(std::move(done));
  }
  wake_.notify_all();
}

void TracingService::refresh() {
  {
    const std::lock_guard lock(mutex_);
    refresh_ = true;
  }
  wake_.notify_all();
}

void TracingService::deliver(std::function<void()> call) {
  call = [this, sent_in = generation_, call = std::move(call)] {
    if (sent_in == generation_) call();
  };
  QMetaObject::invokeMethod(this, std::move(call), Qt::QueuedConnection);
}

void TracingService::write(std::vector<FileWrite> writes, std::function<void(const std::vector<FileWrite>&)> done) {
  post([this, writes = std::move(writes), done = std::move(done)](tree::TracingDir& directory) mutable {
    std::vector<FileWrite> made;
    for (FileWrite& one : writes) {
      auto result = carryOut(one, directory);
      if (!result) one.error = QString::fromStdString(result.error().message());
      made.push_back(one);
      if (!result) break;
    }
    deliver([this, made, done] {
      for (const FileWrite& one : made) Q_EMIT written(one);
      if (done) done(made);
      refresh();
    });
  });
}

void TracingService::read(const QString& path, std::function<void(bool, const QString&)> done) {
  post([this, path, done = std::move(done)](tree::TracingDir& directory) {
    auto text = directory.read(path.toStdString());
    const QString result = QString::fromStdString(text ? *text : text.error().message());
    deliver([done, is_good = text.has_value(), result] { done(is_good, result); });
  });
}

void TracingService::list(const QString& path,
                          std::function<void(bool, const std::vector<tree::DirectoryEntry>&)> done) {
  post([this, path, done = std::move(done)](tree::TracingDir& directory) {
    auto entries = directory.list(path.toStdString());
    deliver(
        [done, is_good = entries.has_value(),
         entries = entries ? *std::move(entries) : std::vector<tree::DirectoryEntry>()] { done(is_good, entries); });
  });
}

void TracingService::run(std::stop_token stop, std::string path, int pid, const record::StoreRoom& room) {
  const auto directory = tree::tracing_dir(path);
  LiveReader reader(pid, room);
  QElapsedTimer since_state, since_shown;
  bool is_shown = true;  // all that was read
  bool is_busy = false;
  bool has_failed = false;
  QString told_of_room;
  while (!stop.stop_requested()) {
    std::deque<std::function<void(tree::TracingDir&)>> tasks;
    std::vector<std::function<void()>> read_out;
    bool reads = true, refresh = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, is_busy ? kShortRound : kRound,
                     [&] { return !tasks_.empty() || !read_out_.empty() || refresh_; });
      tasks.swap(tasks_);
      read_out.swap(read_out_);
      reads = reads_ || !read_out.empty();
      refresh = std::exchange(refresh_, false);
    }
    if (stop.stop_requested()) return;
    if (!tasks.empty()) reader.forgetFormats();
    for (auto& task : tasks) task(*directory);
    Result<std::size_t> came = reads ? reader.poll(*directory) : Result<std::size_t>(0);
    QElapsedTimer reading;
    reading.start();
    while (!read_out.empty() && came && *came > 0 && reading.elapsed() < kReadOutMs) {
      const auto more = reader.poll(*directory);
      if (!more || *more == 0) break;
    }
    is_busy = reads && reader.isBusy();
    is_shown = is_shown && (!came || *came == 0);
    const bool is_due = !is_busy || !since_shown.isValid() || since_shown.elapsed() >= kShowMs;
    if (!is_shown && (is_due || !read_out.empty())) {
      is_shown = true;
      since_shown.start();
      deliver([this, view = reader.view(), metadata = reader.metadata()] { Q_EMIT recordsRead(view, metadata); });
    }
    for (auto& done : read_out) deliver(std::move(done));
    if (const auto text = reader.roomText(); text && std::exchange(told_of_room, *text) != *text)
      deliver([this, text = *text] { Q_EMIT roomTold(text); });
    if (!came && !has_failed)
      deliver([this, text = QString::fromStdString(came.error().message())] { Q_EMIT failed(text); });
    has_failed = !came;
    if (since_state.isValid() && since_state.elapsed() < kStateEveryMs && !refresh) continue;
    since_state.start();
    if (auto state = readLiveState(*directory)) deliver([this, state = *std::move(state)] { Q_EMIT stateRead(state); });
  }
}

}  // namespace kevt::gui
