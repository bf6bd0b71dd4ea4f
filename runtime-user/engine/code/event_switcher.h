// EventSwitcher: switches events on and off in the instances, and keeps the code in the targets in step with the
// tables.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/code/trigger_inliner.h"
#include "runtime-user/engine/records/record_router.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class EventSwitcher {
 public:
  // All arguments outlive this object.
  EventSwitcher(TracingState& state, HitAggregation& aggregation, TriggerInliner& inliner, RecordRouter& records)
      : state_(state), aggregation_(aggregation), inliner_(inliner), records_(records) {}

  // As a write to `enable` files. Where one of several events cannot be switched, the others are, and the first refusal
  // is returned.
  Result<void> set_enabled(Instance& instance, std::span<const TracedEvent* const> events, bool on);
  struct InstanceEvent {
    Instance* instance;
    const TracedEvent* event;
  };
  // Switches events of instances on and brings up to date what postpone() held back: all, or none and the reason. With
  // TracingOptions::keep_going or follows, returns the refusals of probes that were left out of some target.
  std::expected<std::vector<CodeRefusal>, CodeRefusal> switch_on(std::span<const InstanceEvent> events);
  // `change` is +1: one more trigger needs the event armed; -1: one less.
  Result<void> use_softly(Instance& instance, const TracedEvent& event, int change);
  // Removes all triggers of the instance and switches all its events off; on an error the instance is unchanged.
  Result<void> release(Instance& instance);

  // Brings the code of these events up to date with the tables. On a refusal nothing is changed, and the top instance's
  // error_log has the reason.
  Result<void> sync(std::span<const TracedEvent* const> events);
  // From now on sync() only notes the events; the next switch_on() changes their code.
  void postpone() {
    if (!postponed_) postponed_.emplace();
  }
  // The code that the event is to have according to the tables.
  CodeRequest request_for(const TracedEvent& event);

  // To be called when set_event_pid or set_event_notrace_pid of the instance has changed.
  Result<void> follow_pids(const Instance& instance);
  // Sets an option of the instance. Where the option changes what hits record, their code is changed with it.
  Result<void> set_option(Instance& instance, TraceOption option, bool on);
  // debug/kprobes/enabled: false disarms every probe; true arms those of events that are on.
  Result<void> set_probes_armed(bool armed);
  bool probes_armed() const { return probes_armed_; }
  // EventCode::disarm_in().
  Result<void> disarm_in(const TracedTarget& target) { return state_.code.disarm_in(target); }
  // Whether probes are armed by jumps where these fit, or by breakpoints alone; in every target, for probes armed
  // later, too.
  Result<void> use_jumps(bool wanted);
  bool uses_jumps() const { return uses_jumps_; }
  // Whether records may come or a program may wait to be followed.
  bool is_active() const { return armed_ > 0 || state_.options.follows; }

 private:
  std::expected<void, CodeRefusal> switch_together(Instance& instance, std::span<const TracedEvent* const> events,
                                                   bool on);
  // As sync(), but a refusal is not written to the error_log: the caller handles it.
  std::expected<void, CodeRefusal> try_sync(std::span<const TracedEvent* const> events);
  std::expected<void, CodeRefusal> apply_by(Instance* at_hits, std::span<const TracedEvent* const> events);
  std::expected<void, CodeRefusal> apply(std::span<const TracedEvent* const> events);
  // Refuses an injection that would also happen at hits which the event's filter or triggers reject.
  std::optional<CodeRefusal> why_not_injected(const CodeRequest& request) const;
  std::optional<model::Injection> injection_of(const TracedEvent& event) const;

  TracingState& state_;
  HitAggregation& aggregation_;
  TriggerInliner& inliner_;
  RecordRouter& records_;
  std::optional<std::vector<const TracedEvent*>> postponed_;  // events whose code was not brought up to date
  bool probes_armed_ = true;
  bool uses_jumps_ = true;
  std::size_t armed_ = 0;  // events
};

}  // namespace kevt::engine
