// run() takes all posted work at once and does it in order, outside the lock.
#include "tracefs-compat/fuse/work_queue.h"

namespace kevt::fuse {

void WorkQueue::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  filled_.notify_one();
}

void WorkQueue::run(std::chrono::microseconds wait) {
  std::deque<std::function<void()>> now;
  {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, wait, [&] { return !waiting_.empty(); });
    now.swap(waiting_);
  }
  for (const auto& work : now) work();
}

}  // namespace kevt::fuse
