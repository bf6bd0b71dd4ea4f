// WorkQueue: hands work from other threads to one thread, on which tree, engine and ptrace live.
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
  // On that one thread: does all posted work; if there is none, waits for some, at most `wait`.
  void run(std::chrono::microseconds wait);

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> waiting_;  // under mutex_
};

}  // namespace kevt::fuse
