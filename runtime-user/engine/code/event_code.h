// EventCode: the code of events in their targets: compiled when an event is first armed, exchanged when its filter or
// its probes change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/pipeline/code_store.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/code/code_placer.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/records/stack_samples.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

// Records of this type are an event's, with a stack sample.
struct SampledType {
  std::uint32_t event = 0;
  StackSamples samples;
};

// How many of the targets that live must be able to have a probe. NoTarget: what cannot be had is left out, and told
// (take_left_out).
enum class Needs : std::uint8_t { EveryTarget, OneTarget, NoTarget };

class EventCode {
 public:
  // `precompiled`: code that need not be compiled, kept by the caller; nullptr: there is none.
  EventCode(std::vector<TracedTarget*> targets, Needs needs, const pipeline::CodeStore* precompiled = nullptr);

  // A probe as it was just looked up in a target, so that the next apply() need not do it again, unless the target has
  // changed; forgotten then.
  void expect(const TracedTarget& target, std::uint64_t serial, pipeline::CheckedEvent checked) {
    expected_[&target].insert_or_assign(serial, Expected{target.env_version(), std::move(checked)});
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
  // Whether probes of the event, or this one of them, wait for a library of this target.
  bool is_deferred(std::uint32_t event, const TracedTarget& target) const;
  bool is_deferred(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const;
  // Probes of the event, which is armed, that have had code in no target so far and wait for a library or program.
  std::vector<const EventProbe*> waiting(const TracedEvent& event) const;
  // Takes an event's code out, whatever state it is in; its counts are forgotten.
  void forget(std::uint32_t event);

  // Code that counts for these triggers alone, none of which is there any more, is not armed again.
  void retire(std::uint32_t event, const std::function<bool(std::uint64_t trigger)>& is_there);

  // Over all targets and all code the event has had.
  runtime::EventCounts counts(std::uint32_t event) const;
  // Of one of its probes.
  runtime::EventCounts counts(std::uint32_t event, std::uint64_t serial) const;
  // Of all its probes in one target.
  runtime::EventCounts counts(std::uint32_t event, const TracedTarget& target) const;
  // What hits have counted since the last call, in all targets and all code the event has had.
  void take_hit_counts(std::uint32_t event, const std::function<void(TracedTarget&, const runtime::HitCount&)>& use);
  // Whether all code that the event has had asks this filter: no record comes that it rejects.
  bool always_asks(std::uint32_t event, std::string_view filter_text) const;
  // Of one probe in one target; nullopt: it has no code there.
  std::optional<runtime::ArmStatus> arm_status(std::uint32_t event, std::uint64_t serial,
                                               const TracedTarget& target) const;
  // Of one probe of the event as it is armed now, in each target.
  std::vector<runtime::ArmStatus> arm_status(std::uint32_t event, std::size_t probe) const;
  const std::vector<TracedTarget*>& targets() const { return targets_; }
  // Whether misses are counted in every target: `missed ?` else.
  bool sees_misses() const;
  // Can probes have stacks? An error where a target neither takes them at the hit nor can be unwound.
  Result<void> can_have_stacks() const;
  static Result<void> can_have_stacks(TracedTarget& target);
  // nullptr: an event's own type, or nobody's.
  const SampledType* sampled(std::uint32_t type) const;
  // Of the first target that has any.
  StaticEvents* static_events() const;

 private:
  using Handles = std::vector<runtime::ProbeHandle>;
  // In place of a handle: the probe's library is not loaded; it was found wrong when its library came.
  static constexpr runtime::ProbeHandle kDeferred = ~0u, kRefused = ~0u - 1;
  static bool is_placed(runtime::ProbeHandle handle) { return handle < kRefused; }
  static bool has_code(const TracedEvent& event) {
    return event.owner != target::EventOwner::Synthetic && !event.is_static();
  }
  static Handles placed_of(const Handles& handles);
  struct Version {
    std::string key;                      // of what it was compiled from; empty: there is none
    std::vector<Handles> handles;         // for each target; one per probe; empty where the target had ended
    std::vector<std::uint64_t> serials;   // of the probes
    std::vector<std::uint64_t> triggers;  // whose histograms it counts
  };
  struct Code {
    Version now;
    std::vector<Version> former;  // disarmed: their counts are the event's, and each may come back
    bool armed = false;
    std::map<std::uint64_t, runtime::EventCounts> gone;  // of targets that were removed, by the probe's serial
  };
  struct Change;
  struct LookedUp;
  CodePlacer placer(TracedTarget& target);
  std::size_t index_of(const TracedTarget& target) const;
  std::expected<std::optional<CheckedProbe>, CodeRefusal> check(const CodePlacer& placer, const TracedTarget& target,
                                                                const EventProbe& probe, const CodeRequest& request);
  std::optional<pipeline::CheckedEvent> take_expected(const TracedTarget& target, std::uint64_t serial);
  std::expected<LookedUp, CodeRefusal> look_up(std::span<const CodeRequest* const> requests, TracedTarget& target,
                                               std::vector<CodeRefusal>* refusals);
  std::expected<std::vector<Handles>, CodeRefusal> install(std::span<const CodeRequest* const> requests,
                                                           TracedTarget& target);
  std::vector<Handles> install_each(std::span<const CodeRequest* const> requests, TracedTarget& target,
                                    std::vector<CodeRefusal>& refusals);
  bool lacks(const Version& version, std::size_t target) const;
  bool is_whole(const Version& version) const;
  bool take_former(const Code& code, Change& change) const;
  std::optional<CodeRefusal> prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes);
  std::optional<CodeRefusal> install_in(std::size_t target, std::vector<Change>& changes,
                                        std::vector<CodeRefusal>& refusals);
  static bool is_in_no_target(const Version& version);
  void take_back(std::span<const Change> changes);
  void take_over(Change& change);
  void retire_oldest(Code& code);
  void retire_in_targets(const Version& version);
  Result<void> switch_static(std::span<const CodeRequest> requests);
  Result<void> exchange(std::span<const Change> changes, std::size_t target);

  std::optional<std::uint32_t> sampled_type_of(const TracedEvent& event, const model::RecordLayout& layout);

  std::vector<TracedTarget*> targets_;
  Needs needs_;
  const pipeline::CodeStore* precompiled_;
  std::vector<CodeRefusal> left_out_;
  struct Expected {
    std::uint64_t env_version = 0;
    pipeline::CheckedEvent checked;
  };
  std::unordered_map<const TracedTarget*, std::unordered_map<std::uint64_t, Expected>> expected_;  // by serial
  pipeline::CodeStore kept_;      // what was compiled is there for the next target, and for what comes back
  target::FixedCatalog statics_;  // what eprobes stand on
  std::unordered_map<std::uint32_t, Code> codes_;
  std::unordered_map<std::uint32_t, SampledType> sampled_;       // by type
  std::unordered_map<std::uint32_t, std::uint32_t> sampled_of_;  // event to type: the same as long as the event lives
  std::uint32_t next_sampled_ = 0;
};

}  // namespace kevt::engine
