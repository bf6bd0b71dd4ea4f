// EventSwitcher: puts events on and off in the instances, and keeps the code of all events as the tables want it.
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
  // All of them outlive it.
  EventSwitcher(TracingState& state, HitAggregation& aggregation, TriggerInliner& inliner, RecordRouter& records)
      : state_(state), aggregation_(aggregation), inliner_(inliner), records_(records) {}

  // As the `enable` files are written. Where one of several events is in the way, the others are switched, and the
  // first refusal is the answer.
  Result<void> set_enabled(Instance& instance, std::span<const TracedEvent* const> events, bool on);
  struct InstanceEvent {
    Instance* instance;
    const TracedEvent* event;
  };
  // Events of instances, and all that was postponed: all or none, and why. Where TracingOptions::keep_going or follows,
  // what was left out of some target is returned.
  std::expected<std::vector<CodeRefusal>, CodeRefusal> switch_on(std::span<const InstanceEvent> events);
  // One trigger more (+1) or less (-1) needs the event armed.
  Result<void> use_softly(Instance& instance, const TracedEvent& event, int change);
  // The instance is to have neither events nor triggers any more; on an error it is as it was.
  Result<void> release(Instance& instance);

  // The code of these events becomes what the tables say. What cannot be is in the top instance's error_log, and
  // nothing is changed.
  Result<void> sync(std::span<const TracedEvent* const> events);
  // From now on sync() changes nothing: the next switch_on() does.
  void postpone() {
    if (!postponed_) postponed_.emplace();
  }
  // What the tables say the event's code is to be.
  CodeRequest request_for(const TracedEvent& event);

  // The lists set_event_pid and set_event_notrace_pid of the instance have changed.
  Result<void> follow_pids(const Instance& instance);
  // Options that change what is recorded; others are the instance's own affair, too.
  Result<void> set_option(Instance& instance, TraceOption option, bool on);
  // debug/kprobes/enabled: off takes every probe out, on puts back what is on.
  Result<void> set_probes_armed(bool armed);
  bool probes_armed() const { return probes_armed_; }
  // By jumps where they fit, or by breakpoints alone: in every target, those to be armed later included.
  Result<void> use_jumps(bool wanted);
  bool uses_jumps() const { return uses_jumps_; }
  // Is anything armed, so that records may come, or may a program wait to be followed?
  bool is_active() const { return armed_ > 0 || state_.options.follows; }

 private:
  std::expected<void, CodeRefusal> switch_together(Instance& instance, std::span<const TracedEvent* const> events,
                                                   bool on);
  // As sync(); a refusal is not logged, since the caller goes on.
  std::expected<void, CodeRefusal> try_sync(std::span<const TracedEvent* const> events);
  std::expected<void, CodeRefusal> apply_by(Instance* at_hits, std::span<const TracedEvent* const> events);
  std::expected<void, CodeRefusal> apply(std::span<const TracedEvent* const> events);
  // Where hits would make their function return that the event's filter or triggers reject.
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
