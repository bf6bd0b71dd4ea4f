// EventCode: changes the code of events in their targets: compiled when an event is first armed, exchanged when its
// filter or its probes change. What is there, InstalledCode shows.
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

// How many of the targets that live must be able to have a probe. NoTarget: what cannot be had is left out, and told
// (take_left_out).
enum class Needs : std::uint8_t { EveryTarget, OneTarget, NoTarget };

class EventCode {
 public:
  // `precompiled`: code that need not be compiled, kept by the caller; nullptr: there is none.
  EventCode(std::vector<TracedTarget*> targets, Needs needs, const pipeline::CodeStore* precompiled = nullptr)
      : table_{std::move(targets), {}}, needs_(needs), installer_(table_.static_events(), precompiled) {}

  InstalledCode installed() const { return InstalledCode(table_); }
  const SampledTypes& sampled() const { return installer_.sampled(); }

  // A probe as it was just looked up in a target, so that the next apply() need not do it again; forgotten then.
  void expect(const TracedTarget& target, std::uint64_t serial, pipeline::CheckedEvent checked) {
    installer_.expect(target, serial, std::move(checked));
  }
  // All of it, or nothing is changed and the refusal says why.
  std::expected<void, CodeRefusal> apply(std::span<const CodeRequest> requests);
  // What the last apply() left out of some target, where not every target must have it.
  std::vector<CodeRefusal> take_left_out() { return std::exchange(left_out_, {}); }
  // A target that comes, which must outlive this or be removed: of the requests, what is armed is armed there, too.
  // What it cannot have is returned and left out.
  std::vector<CodeRefusal> add_target(TracedTarget& target, std::span<const CodeRequest> requests);
  // A target that has ended, of which no record is under way: its counts stay the events'.
  void remove_target(const TracedTarget& target);
  // A library has come to this target: places and arms what waited for it there, of events that are armed. What turns
  // out wrong with a probe then (no such function, no room) is returned; it waits no more.
  std::vector<CodeRefusal> place_deferred(std::span<const CodeRequest> requests, TracedTarget& target);
  // Takes an event's code out, whatever state it is in; its counts are forgotten.
  void forget(std::uint32_t event);
  // Code that counts for these triggers alone, none of which is there any more, is not armed again.
  void retire(std::uint32_t event, const std::function<bool(std::uint64_t trigger)>& is_there);

 private:
  struct Change;
  Change change_for(const CodeRequest& request, bool any_alive) const;
  std::optional<CodeRefusal> prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes);
  std::optional<CodeRefusal> install_in(std::size_t target, std::vector<Change>& changes,
                                        std::vector<CodeRefusal>& refusals);
  Result<void> switch_static(std::span<const CodeRequest> requests);
  Result<void> exchange(std::span<const Change> changes, std::size_t target);
  void take_back(std::span<const Change> changes);
  void take_over(Change& change);
  void retire_oldest(EventVersions& versions);
  void retire_in_targets(const CodeVersion& version);

  CodeTable table_;
  Needs needs_;
  std::vector<CodeRefusal> left_out_;
  CodeInstaller installer_;
};

}  // namespace kevt::engine
