// EventGroup: perf events that go on and off together, in one step for each CPU.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::bpf {

// The leaders of a group, one on each CPU. Its other events are opened under a leader and are on while that is on and
// they have not been switched off themselves. A leader that is closed lets its events go on alone: it is closed last.
class EventGroup {
 public:
  // Off. `leaders`: events that record nothing.
  explicit EventGroup(std::vector<UniqueFd> leaders) : leaders_(std::move(leaders)) {}

  int leader(std::size_t ring) const { return leaders_[ring].get(); }
  bool is_on() const { return is_on_; }
  Result<void> switch_on();
  void switch_off();

 private:
  std::vector<UniqueFd> leaders_;
  bool is_on_ = false;
};

// An event on all CPUs. Its group is shared since the last event of it, whoever closes that, closes the leaders.
struct OpenEvent {
  std::shared_ptr<EventGroup> group;
  std::vector<UniqueFd> fds;  // closed before the group
  bool with_stacks = false;
  bool is_armed = true;  // on as soon as its group is

  bool is_open() const { return !fds.empty(); }
  // Cheap while the group is off. Switching on one that is alone off in a group that is on is not: the kernel
  // schedules every event of the CPU anew.
  Result<void> arm();
  void disarm();
};

}  // namespace kevt::bpf
