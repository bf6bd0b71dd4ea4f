// ParkedEvents: perf events that are off and not closed yet.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/unique_fd.h"

namespace kevt::bpf {

class ParkedEvents {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  // An event is closed when it has lain here for `patience`, by a thread of ours.
  explicit ParkedEvents(std::chrono::milliseconds patience = kPatience);
  // Closes what is left.
  ~ParkedEvents();
  ParkedEvents(const ParkedEvents&) = delete;

  struct Parked {
    std::vector<UniqueFd> fds;
    bool with_stacks = false;
  };
  void park(std::uint32_t id, Parked event);
  // Takes it back; nullopt where it was closed, or never here.
  std::optional<Parked> take(std::uint32_t id);
  // Events that are here, without one that is being closed.
  std::size_t size() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::uint32_t id = 0;
    Clock::time_point since;
    Parked event;
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
