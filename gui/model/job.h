// JobQueue: runs work off the UI thread. Results arrive in the thread of `context`.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace kevt::gui {

// Lowers the calling thread's priority, so that it gives way to the painting thread.
void yieldToTheWindow();

// Runs `work(thread)` on all CPUs, but no more than `most` times at once: in the calling thread, which is 0, and in
// others. Comes back when all are done. Where there are no more threads, those that are there do it.
void onAllCpus(std::size_t most, const std::function<void(std::size_t thread)>& work);
// How many times that is.
std::size_t threadsFor(std::size_t most);

using Cancelled = std::shared_ptr<std::atomic<bool>>;

// The destructor waits for started work; results that were not delivered by then are dropped.
class JobQueue {
 public:
  JobQueue(QObject* context, int threads);
  ~JobQueue();

  // `work(const std::atomic<bool>& cancelled)` runs in a pool thread, then `done(result)` in the context's thread,
  // unless cancelled.
  template <typename Work, typename Done>
  Cancelled start(Work work, Done done) {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    run(cancelled, [this, cancelled, work = std::move(work), done = std::move(done)]() mutable {
      auto result = std::make_shared<decltype(work(*cancelled))>(work(*cancelled));
      deliver([cancelled, result, done = std::move(done)]() mutable {
        if (!*cancelled) done(std::move(*result));
      });
    });
    return cancelled;
  }

  void waitForDone() { pool_.waitForDone(); }

 private:
  void run(const Cancelled& cancelled, std::function<void()> task);
  void deliver(std::function<void()> call);

  QObject* context_;
  QThreadPool pool_;
  Cancelled generation_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace kevt::gui
