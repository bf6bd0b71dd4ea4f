// WorkQueue: hands work from other threads to one. The tree, the engine and ptrace all live on that one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace kevt::fuse {

class WorkQueue {
 public:
  // From any thread.
  void post(std::function<void()> work);
  // On the one thread: does what is there, or waits for it, no longer than `wait`.
  void run(std::chrono::microseconds wait);

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> waiting_;  // under mutex_
};

}  // namespace kevt::fuse
