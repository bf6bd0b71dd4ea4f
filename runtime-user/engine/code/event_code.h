// EventCode: changes the code of events in their targets. An event's code is compiled when the event is first armed,
// and exchanged when its filter or probes change. InstalledCode is the view for readers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/code/code_installer.h"
#include "runtime-user/engine/code/code_table.h"
#include "runtime-user/engine/code/installed_code.h"

namespace kevt::engine {

// In how many living targets a probe must be possible. Unless it is EveryTarget, refused probes are left out and
// reported by take_left_out().
enum class Needs : std::uint8_t { EveryTarget, OneTarget, NoTarget };

class EventCode {
 public:
  // `precompiled`: code that need not be compiled, owned by the caller; nullptr: none.
  EventCode(std::vector<TracedTarget*> targets, Needs needs, const pipeline::CodeStore* precompiled = nullptr)
      : table_{std::move(targets), {}}, needs_(needs), installer_(table_, precompiled) {}

  InstalledCode installed() const { return InstalledCode(table_); }

  // Passes in the result of looking a probe up in a target, so that the next apply() need not look it up again. That
  // apply() drops all such results.
  void expect(const TracedTarget& target, std::uint64_t serial, pipeline::CheckedEvent checked) {
    installer_.expect(target, serial, std::move(checked));
  }
  // Makes the code of these events what the requests say: all of it, or nothing is changed and the refusal says why.
  std::expected<void, CodeRefusal> apply(std::span<const CodeRequest> requests);
  // The refusals of probes that the last apply() left out of some target; empty with Needs::EveryTarget.
  std::vector<CodeRefusal> take_left_out() { return std::exchange(left_out_, {}); }
  // Adds a target, which must outlive this object or be removed first. Events of the requests that are armed are armed
  // in the target, too. Probes that the target cannot have are left out, and their refusals are returned.
  std::vector<CodeRefusal> add_target(TracedTarget& target, std::span<const CodeRequest> requests);
  // Removes a target that has ended and of which no record is pending. The events keep its counts.
  void remove_target(const TracedTarget& target);
  // The target has loaded a library: places and arms the probes of armed events that waited for it. A probe that turns
  // out wrong (no such function, no room) waits no more; its refusal is returned.
  std::vector<CodeRefusal> place_deferred(std::span<const CodeRequest> requests, TracedTarget& target);
  // Probes whose code in the target is gone and may come again (ArmStatus::may_come) wait from now on, as those of a
  // library that is not loaded yet. Their counts stay.
  Result<void> defer_gone(TracedTarget& target);
  // Disarms all probes in one target for good: to be called before its last records are read.
  Result<void> disarm_in(const TracedTarget& target);
  // Removes all code of an event, armed or not, and forgets the event's counts.
  void forget(std::uint32_t event);
  // Gives up disarmed code whose histogram triggers are all gone (`is_there` says no to each): it is never armed again.
  void retire(std::uint32_t event, const std::function<bool(std::uint64_t trigger)>& is_there);

 private:
  struct Change;
  Change change_for(const CodeRequest& request) const;
  std::optional<CodeRefusal> prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes);
  std::optional<CodeRefusal> install_in(std::size_t target, std::vector<Change>& changes,
                                        std::vector<CodeRefusal>& refusals);
  Result<void> switch_static(std::span<const CodeRequest> requests);
  Result<void> exchange(std::span<const Change> changes, std::size_t target);
  void take_back(std::span<const Change> changes);
  void take_over(Change& change);
  void retire_oldest(EventVersions& versions);
  void retire_in_targets(const CodeVersion& version);
  void settle(EventVersions& versions, std::size_t target);

  CodeTable table_;
  Needs needs_;
  std::vector<CodeRefusal> left_out_;
  CodeInstaller installer_;
};

}  // namespace kevt::engine
