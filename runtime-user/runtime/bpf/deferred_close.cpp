// The kernel takes some 20 ms to close the last perf event of a tracepoint: it waits until no CPU can be in it any
// more, for one event after the other. Switching it off takes microseconds. So an event that is off is kept open for a
// while,
//
//   off ─► parked ─► on again: taken back, microseconds
//             └────► 5 s later: closed, by a thread that nobody waits for
//
// and `echo 0 > events/enable` with 1,300 events on answers at once, not after half a minute. A parked event costs a
// hit a few nanoseconds: the tracepoint is called, and finds nobody who wants its record. Only opening another event
// may wait for a close that is under way.
#include "runtime-user/runtime/bpf/deferred_close.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace kevt::bpf {

struct DeferredClose::Forks {
  static std::mutex& mutex() {
    static std::mutex of_all;
    return of_all;
  }
  static std::vector<DeferredClose*>& all() {
    static std::vector<DeferredClose*> of_all;
    return of_all;
  }
  static void lock() {
    mutex().lock();
    for (DeferredClose* one : all()) one->mutex_.lock();
  }
  static void unlock() {
    for (DeferredClose* one : all()) one->mutex_.unlock();
    mutex().unlock();
  }
  static void add(DeferredClose* one) {
    static const int kRegistered = pthread_atfork(lock, unlock, unlock);
    (void)kRegistered;
    const std::lock_guard guard(mutex());
    all().push_back(one);
  }
  static void remove(DeferredClose* one) {
    const std::lock_guard guard(mutex());
    std::erase(all(), one);
  }
};

DeferredClose::DeferredClose(std::chrono::milliseconds patience) : patience_(patience) {
  Forks::add(this);
  sigset_t all, before;  // signals belong to other threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  closer_ = std::thread([this] { close_old_ones(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DeferredClose::~DeferredClose() {
  Forks::remove(this);
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  closer_.join();
}

void DeferredClose::park(std::uint32_t id, OpenEvent event) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({id, Clock::now(), std::move(event)});
  }
  changed_.notify_one();
}

std::optional<OpenEvent> DeferredClose::take(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(waiting_, id, &Waiting::id);
  if (it == waiting_.end()) return std::nullopt;
  std::optional<OpenEvent> event = std::move(it->event);
  waiting_.erase(it);
  return event;
}

void DeferredClose::disarm(const EventGroup& group) {
  const std::lock_guard lock(mutex_);
  for (Waiting& one : waiting_)
    if (one.event.group.get() == &group) one.event.disarm();
}

void DeferredClose::disarm() {
  const std::lock_guard lock(mutex_);
  for (Waiting& one : waiting_) one.event.disarm();
}

void DeferredClose::let_go_in_copy() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void DeferredClose::add_descriptors(std::vector<int>& out) const {
  const std::lock_guard lock(mutex_);
  for (const Waiting& one : waiting_)
    for (const UniqueFd& fd : one.event.fds) out.push_back(fd.get());
}

std::size_t DeferredClose::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void DeferredClose::close_old_ones() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto due = waiting_.front().since + patience_;
    if (Clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    std::optional<OpenEvent> event = std::move(waiting_.front().event);
    event->disarm();  // its group may be switched on while it is closed
    waiting_.pop_front();
    lock.unlock();
    event.reset();  // this is what takes its time
    lock.lock();
  }
}

}  // namespace kevt::bpf
