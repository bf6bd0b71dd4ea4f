// DeferredClose: perf events that are off and not closed yet.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime-user/runtime/bpf/event_group.h"

namespace kevt::bpf {

class DeferredClose {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  // A thread of this object closes an event that has been parked for `patience`.
  explicit DeferredClose(std::chrono::milliseconds patience = kPatience);
  // Closes the events that are still parked.
  ~DeferredClose();
  DeferredClose(const DeferredClose&) = delete;

  // Parks an event whose group is off, or that is disarmed.
  void park(std::uint32_t id, OpenEvent event);
  // Takes a parked event back; nullopt: it was closed, or never parked.
  std::optional<OpenEvent> take(std::uint32_t id);
  // Parked events of this group stay off when the group is switched on.
  void disarm(const EventGroup& group);
  // All parked events stay off, whatever becomes of their groups.
  void disarm();
  // How many events are parked, without one that is being closed.
  std::size_t size() const;
  // In a copy of this process (fork): closes the copies of the descriptors, else the copy would be the last that has
  // the events open, and its end would take the time that is meant to be saved. An event that was being closed stays.
  void let_go_in_copy();
  // Appends the descriptors of all parked events, without their leaders'.
  void add_descriptors(std::vector<int>& out) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::uint32_t id = 0;
    Clock::time_point since;
    OpenEvent event;
  };
  struct Forks;  // forks wait for the mutex: a copy finds what it guards in order
  void close_old_ones();

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // the oldest first
  bool ends_ = false;
  std::thread closer_;
};

}  // namespace kevt::bpf
