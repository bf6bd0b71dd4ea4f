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

  // An event is closed when it has lain here for `patience`, by a thread of ours.
  explicit DeferredClose(std::chrono::milliseconds patience = kPatience);
  // Closes what is left.
  ~DeferredClose();
  DeferredClose(const DeferredClose&) = delete;

  // Its group is off, or it is disarmed.
  void park(std::uint32_t id, OpenEvent event);
  // Takes it back; nullopt where it was closed, or never here.
  std::optional<OpenEvent> take(std::uint32_t id);
  // Those of this group stay off when it is switched on.
  void disarm(const EventGroup& group);
  // All of them stay off, whatever becomes of their groups.
  void disarm();
  // Events that are here, without one that is being closed.
  std::size_t size() const;
  // Adds the descriptors of all that are here, but for those of leaders.
  void add_descriptors(std::vector<int>& out) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::uint32_t id = 0;
    Clock::time_point since;
    OpenEvent event;
  };
  void close_old_ones();

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // the oldest first
  bool ends_ = false;
  std::thread closer_;
};

}  // namespace kevt::bpf
