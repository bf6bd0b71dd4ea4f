// Triggers that hits carry out by themselves (docs/adr/0020).
//
//   traceoff:1 if x == 5      the event's code: x == 5 ─► behind the record: tracing_on := 0, count -= 1
//                             every event's code: tracing_on == 0 ─► filtered
//
// A hit can read and change what lies in a cell (shared_cell.h): tracing_on, an event's soft switch, a trigger's count.
// Hits do so if there is one target, only one instance has events on, all of these have code, and all triggers need
// only cells (events whose hits count by themselves, hit_aggregation.cpp, do not matter). Otherwise the reader decides
// (RecordRouter), in the order of the hits: several instances share an event's code, several targets have separate
// cells, and only the reader can swap buffers for a snapshot.
#include "runtime-user/engine/code/trigger_inliner.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/assert.h"
#include "compiler/sema/filter.h"
#include "runtime-user/engine/code/hit_condition.h"
#include "runtime-user/engine/records/record_ids.h"
#include "runtime-user/engine/records/trigger_moment.h"

namespace kevt::engine {

namespace {

bool can_be_decided_at_the_hit(const model::Trigger& trigger) {
  switch (trigger.kind) {
    case model::TriggerKind::TraceOn:
    case model::TriggerKind::TraceOff:
    case model::TriggerKind::EnableEvent:
    case model::TriggerKind::DisableEvent:
      return !trigger.condition || !sema::is_only_judged(*trigger.condition);
    case model::TriggerKind::Stacktrace:
    case model::TriggerKind::Snapshot:
    case model::TriggerKind::Hist:
    case model::TriggerKind::EnableHist:
    case model::TriggerKind::DisableHist:
      return false;
  }
  return false;
}

bool turns_on(model::TriggerKind kind) {
  return kind == model::TriggerKind::TraceOn || kind == model::TriggerKind::EnableEvent;
}

}  // namespace

void TriggerInliner::forget(const Instance& instance) {
  if (instance_ == &instance) instance_ = nullptr;
  if (last_ == &instance) last_ = nullptr;
}

Instance* TriggerInliner::choose() {
  const auto& targets = state_.code.installed().targets();
  if (!state_.cells.offers_any() || targets.size() != 1) return nullptr;
  Instance* only = nullptr;
  bool has_triggers = false;
  for (const auto& instance : state_.instances) {
    for (const auto& [event, triggers] : instance->triggers.events()) {
      const TracedEvent* owner = state_.events.find(event.system, event.event);
      if (owner && !aggregation_.of(*owner).empty()) continue;  // its hits count by themselves, and switch nothing
      has_triggers = has_triggers || !triggers.empty();
      if (!std::ranges::all_of(triggers, can_be_decided_at_the_hit)) return nullptr;
    }
  }
  if (!has_triggers) return nullptr;
  for (const auto& instance : state_.instances)
    for (const auto& [id, one] : instance->events) {
      if (!one.registered || id == kPrintId) continue;
      const TracedEvent* event = state_.events.find(id);
      if (!event || event->is_static() || (only && only != instance.get())) return nullptr;
      only = instance.get();
    }
  return only && share_cells(*only) ? only : nullptr;
}

bool TriggerInliner::share_cells(Instance& instance) {
  bool all = instance.tracing_on.word().share(state_.cells);
  for (auto& [id, one] : instance.events)
    if (one.soft_users > 0) all = all && one.softly_on.word().share(state_.cells);
  for (const auto& [name, triggers] : instance.triggers.events())
    for (const model::Trigger& trigger : triggers)
      if (const TracedEvent* target = state_.events.switched_by(trigger))
        all = all && instance.state_of(target->id).softly_on.word().share(state_.cells);
  for (auto& [id, count] : instance.trigger_counts) all = all && count.word().share(state_.cells);
  return all;
}

model::InlineTriggers TriggerInliner::triggers_of(const TracedEvent& event) {
  KEVT_ASSERT(instance_);
  Instance& instance = *instance_;
  model::InlineTriggers inline_triggers;
  for (const model::Trigger& trigger : instance.triggers.of(event.full_name())) {
    const TracedEvent* target = state_.events.switched_by(trigger);
    SharedSwitch& changed = target ? instance.state_of(target->id).softly_on : instance.tracing_on;
    model::InlineTriggers::Action action{.condition = hit_condition(state_, trigger, event),
                                         .word = changed.word().index(),
                                         .on = turns_on(trigger.kind),
                                         .late = acts_late(trigger.kind),
                                         .left = std::nullopt};
    const auto count = instance.trigger_counts.find(trigger.id);
    if (count != instance.trigger_counts.end()) action.left = count->second.word().index();
    inline_triggers.actions.push_back(std::move(action));
  }
  inline_triggers.gates = gates_of(event);
  return inline_triggers;
}

// The gate tracing_on is checked when room in the ring is reserved. That is before the triggers if they need the
// record; but if there is a filter or the event is softly off, the kernel makes the record in a temporary buffer and
// reserves later. The gate of the soft switch is checked behind the triggers, and also before them if they need no
// record. Mirrors trace_trigger_soft_disabled() and trace_event_buffer_lock_reserve() of the kernel.
std::vector<model::InlineTriggers::Gate> TriggerInliner::gates_of(const TracedEvent& event) {
  using Gate = model::InlineTriggers::Gate;
  EventState& one = instance_->state_of(event.id);
  const auto triggers = instance_->triggers.of(event.full_name());
  Gate tracing{.word = instance_->tracing_on.word().index(), .early = false, .early_while = std::nullopt};
  tracing.early = need_record(triggers) && !one.filter;
  if (one.soft_users == 0) return {tracing};
  const Gate softly{.word = one.softly_on.word().index(), .early = false, .early_while = std::nullopt};
  if (tracing.early) tracing.early_while = softly.word;
  if (triggers.empty() || need_record(triggers)) return {tracing, softly};
  return {tracing, softly, {.word = softly.word, .early = true, .early_while = std::nullopt}};
}

// Ids of triggers are never reused, so they identify the triggers.
std::string TriggerInliner::key_of(const TracedEvent& event, const model::InlineTriggers& triggers) const {
  std::string text = instance_->name + " triggers";
  for (const model::Trigger& trigger : instance_->triggers.of(event.full_name()))
    text += fmt::format(" {}", trigger.id);
  for (const model::InlineTriggers::Action& action : triggers.actions) text += fmt::format(" word {}", action.word);
  for (const model::InlineTriggers::Gate& gate : triggers.gates)
    text += fmt::format(" gate {}{}{}", gate.word, gate.early ? " early" : "", gate.early_while ? " while" : "");
  return text;
}

}  // namespace kevt::engine
