// Triggers that hits carry out by themselves (docs/adr/0020).
//
//   traceoff:1 if x == 5      the event's code: x == 5 ─► behind the record: tracing_on of the instance := 0, count -=
//   1
//                             every event's code: tracing_on == 0 ─► filtered
//
// A hit can decide what is a word (shared_word.h): tracing_on, an event's soft switch, a trigger's count. So it does
// where one instance alone has events on, all of code, in one target, and all its triggers are of that sort. Else the
// reader decides (hits.cpp), in the order of the hits: several instances share an event's code, several targets have
// words of their own, a snapshot swaps buffers that only the reader has.
#include <fmt/format.h>

#include <algorithm>

#include "common/assert.h"
#include "compiler/sema/filter.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/trigger_moment.h"

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

Instance* Tracing::instance_for_hits() {
  const auto& targets = code_.targets();
  if (!words_.offers_any() || targets.size() != 1) return nullptr;
  Instance* only = nullptr;
  bool has_triggers = false;
  for (const auto& instance : instances_) {
    for (const auto& [event, triggers] : instance->triggers.events()) {
      has_triggers = has_triggers || !triggers.empty();
      if (!std::ranges::all_of(triggers, can_be_decided_at_the_hit)) return nullptr;
    }
  }
  if (!has_triggers) return nullptr;
  for (const auto& instance : instances_)
    for (const auto& [id, one] : instance->events) {
      if (!one.registered || id == kPrintId) continue;
      const TracedEvent* event = events_.find(id);
      if (!event || event->is_static() || (only && only != instance.get())) return nullptr;
      only = instance.get();
    }
  return only && share_words(*only) ? only : nullptr;
}

bool Tracing::share_words(Instance& instance) {
  bool all = instance.tracing_on.word().share(words_);
  for (auto& [id, one] : instance.events)
    if (one.soft_users > 0) all = all && one.softly_on.word().share(words_);
  for (const auto& [name, triggers] : instance.triggers.events())
    for (const model::Trigger& trigger : triggers)
      if (const TracedEvent* target = soft_target(trigger))
        all = all && touch(instance, *target).softly_on.word().share(words_);
  for (auto& [id, count] : instance.trigger_counts) all = all && count.word().share(words_);
  return all;
}

// Hits of our own threads trigger nothing.
std::optional<model::FilterExpr> Tracing::condition_at_the_hit(const model::Trigger& trigger,
                                                               const TracedEvent& event) const {
  if (hidden_.empty()) return trigger.condition;
  std::string text;
  for (const std::int32_t tid : hidden_) text += fmt::format("{}common_pid != {}", text.empty() ? "" : " && ", tid);
  diag::Sink sink;
  auto condition = sema::compile_filter(text, event.layout, sink, options_.check);
  KEVT_ASSERT(condition);
  if (!trigger.condition) return condition;
  model::FilterExpr both;
  both.node = model::FilterNode::And;
  both.children.push_back(*std::move(condition));
  both.children.push_back(*trigger.condition);
  return both;
}

model::HitSwitches Tracing::switches_for(Instance& instance, const TracedEvent& event) {
  model::HitSwitches switches;
  for (const model::Trigger& trigger : instance.triggers.of({event.group, event.name})) {
    const TracedEvent* target = soft_target(trigger);
    SharedSwitch& changed = target ? touch(instance, *target).softly_on : instance.tracing_on;
    model::HitSwitches::Action action{.condition = condition_at_the_hit(trigger, event),
                                      .word = changed.word().index(),
                                      .on = turns_on(trigger.kind),
                                      .late = acts_late(trigger.kind),
                                      .left = std::nullopt};
    const auto count = instance.trigger_counts.find(trigger.id);
    if (count != instance.trigger_counts.end()) action.left = count->second.word().index();
    switches.actions.push_back(std::move(action));
  }
  switches.gates = gates_for(instance, event);
  return switches;
}

// Room in the ring asks tracing_on: before the triggers where these need the record, unless a filter, or that the event
// is softly off, lets the record be made elsewhere and copied when all is known. Whether the event is softly off is
// asked behind the triggers, and before them, too, where they need no record. Mirrors trace_trigger_soft_disabled() and
// trace_event_buffer_lock_reserve() of the kernel.
std::vector<model::HitSwitches::Gate> Tracing::gates_for(Instance& instance, const TracedEvent& event) {
  using Gate = model::HitSwitches::Gate;
  EventState& one = touch(instance, event);
  const auto triggers = instance.triggers.of({event.group, event.name});
  Gate tracing{.word = instance.tracing_on.word().index(), .early = false, .early_while = std::nullopt};
  tracing.early = need_record(triggers) && !one.filter;
  if (one.soft_users == 0) return {tracing};
  const Gate softly{.word = one.softly_on.word().index(), .early = false, .early_while = std::nullopt};
  if (tracing.early) tracing.early_while = softly.word;
  if (triggers.empty() || need_record(triggers)) return {tracing, softly};
  return {tracing, softly, {.word = softly.word, .early = true, .early_while = std::nullopt}};
}

// What tells them from others: a trigger's id is given once.
std::string Tracing::switches_text(const Instance& instance, const TracedEvent& event,
                                   const model::HitSwitches& switches) const {
  std::string text = instance.name + " triggers";
  for (const model::Trigger& trigger : instance.triggers.of({event.group, event.name}))
    text += fmt::format(" {}", trigger.id);
  for (const model::HitSwitches::Action& action : switches.actions) text += fmt::format(" word {}", action.word);
  for (const model::HitSwitches::Gate& gate : switches.gates)
    text += fmt::format(" gate {}{}{}", gate.word, gate.early ? " early" : "", gate.early_while ? " while" : "");
  return text;
}

}  // namespace kevt::engine
