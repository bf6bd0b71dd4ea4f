// Work off the UI thread: a small thread pool whose results come back through the event loop.
//
// The destructor waits for the pool, so a result never comes after the object that it is reported to.
#include "gui/model/job.h"

#include <sys/resource.h>
#include <unistd.h>

#include <QMetaObject>
#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace kevt::gui {

void yieldToTheWindow() {
  constexpr int kNiceness = 5;
  thread_local const bool is_done = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness) == 0;
  (void)is_done;
}

std::size_t threadsFor(std::size_t most) {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, std::max<std::size_t>(most, 1));
}

void onAllCpus(std::size_t most, const std::function<void(std::size_t thread)>& work) {
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threadsFor(most); ++i)
      others.emplace_back([&work, i] {
        yieldToTheWindow();
        work(i);
      });
  } catch (const std::system_error&) {  // no more threads
  }
  work(0);
}

JobQueue::JobQueue(QObject* context, int threads) : context_(context) { pool_.setMaxThreadCount(threads); }

JobQueue::~JobQueue() {
  generation_->store(true);
  pool_.clear();
  pool_.waitForDone();
}

void JobQueue::run(const Cancelled& cancelled, std::function<void()> task) {
  pool_.start([generation = generation_, cancelled, task = std::move(task)] {
    if (*generation || *cancelled) return;
    yieldToTheWindow();
    task();
  });
}

void JobQueue::deliver(std::function<void()> call) {
  QMetaObject::invokeMethod(context_, std::move(call), Qt::QueuedConnection);
}

}  // namespace kevt::gui
