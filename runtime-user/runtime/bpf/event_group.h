// EventGroup: perf events that go on and off together, in one step for each CPU.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::bpf {

// The leaders of a group, one on each CPU. The other events are opened under a leader; such an event is on while its
// leader is on and the event itself is not disarmed. Events whose leader is closed go on alone, so leaders are closed
// last.
class EventGroup {
 public:
  // The group begins off. `leaders`: events that record nothing.
  explicit EventGroup(std::vector<UniqueFd> leaders) : leaders_(std::move(leaders)) {}

  int leader(std::size_t ring) const { return leaders_[ring].get(); }
  bool is_on() const { return is_on_; }
  Result<void> switch_on();
  void switch_off();

 private:
  std::vector<UniqueFd> leaders_;
  bool is_on_ = false;
};

// One event, open on all CPUs. Events share their group: whoever closes the last event closes the leaders.
struct OpenEvent {
  std::shared_ptr<EventGroup> group;
  std::vector<UniqueFd> fds;  // closed before the group
  bool with_stacks = false;
  bool is_armed = true;  // on as soon as its group is

  bool is_open() const { return !fds.empty(); }
  // Cheap while the group is off. Switching on one event of a group that is on is dear: the kernel schedules every
  // event of the CPU anew.
  Result<void> arm();
  void disarm();
};

}  // namespace kevt::bpf
