// Work off the UI thread: a small thread pool whose results come back through the event loop.
//
// The destructor waits for the pool, so a result never comes after the object that it is reported to.
#include "gui/model/job.h"

#include <sys/resource.h>
#include <unistd.h>

#include <QMetaObject>

namespace kevt::gui {

void yieldToTheWindow() {
  constexpr int kNiceness = 5;
  thread_local const bool is_done = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness) == 0;
  (void)is_done;
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
