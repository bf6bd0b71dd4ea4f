// The order in which triggers of one hit act: trigger_moment.h.
//
// Mirrors event_triggers_call(), event_triggers_post_call() and the trigger functions of
// kernel/trace/trace_events_trigger.c (6.1).
#include "runtime-user/engine/records/trigger_runner.h"

#include <algorithm>
#include <iterator>

#include "compiler/model/record_view.h"
#include "runtime-user/engine/records/record_filter.h"
#include "runtime-user/engine/records/trigger_moment.h"

namespace kevt::engine {

namespace {

bool may_act(const Instance& instance, const model::Trigger& trigger) {
  const auto left = instance.trigger_counts.find(trigger.id);
  return left == instance.trigger_counts.end() || left->second.left() > 0;
}

// Switches all histograms of an event.
void switch_histograms(Instance& instance, const model::EventName& event, model::HistState state) {
  for (const model::Trigger& trigger : instance.triggers.of(event))
    if (trigger.kind == model::TriggerKind::Hist) instance.triggers.apply(sema::SetHistState{event, trigger.id, state});
}

}  // namespace

// A trigger's count goes down only if the trigger changed something; that of enable_hist and disable_hist always.
void TriggerRunner::act(Instance& instance, const model::Trigger& trigger) const {
  if (!may_act(instance, trigger)) return;
  bool changed = true;
  switch (trigger.kind) {
    case model::TriggerKind::TraceOn:
      changed = !instance.tracing_on.exchange(true);
      break;
    case model::TriggerKind::TraceOff:
      changed = instance.tracing_on.exchange(false);
      break;
    case model::TriggerKind::Snapshot:
      instance.take_snapshot();
      break;
    case model::TriggerKind::EnableEvent:
    case model::TriggerKind::DisableEvent: {
      const TracedEvent* target = events_.switched_by(trigger);
      const bool wanted = trigger.kind == model::TriggerKind::EnableEvent;
      changed = target && instance.state_of(target->id).softly_on.exchange(wanted) != wanted;
      break;
    }
    case model::TriggerKind::Stacktrace:
      break;  // the caller stores it
    case model::TriggerKind::EnableHist:
      switch_histograms(instance, trigger.target, model::HistState::Active);
      break;
    case model::TriggerKind::DisableHist:
      switch_histograms(instance, trigger.target, model::HistState::Paused);
      break;
    case model::TriggerKind::Hist:
      break;  // count()
  }
  const auto left = instance.trigger_counts.find(trigger.id);
  if (changed && left != instance.trigger_counts.end()) left->second.take_one();
}

void TriggerRunner::count(Instance& instance, const model::Trigger& trigger, const runtime::Record& record,
                          Fired& fired) {
  const HistHit hit{.record = record.bytes, .cpu = record.cpu, .comm = record.comm, .time = 0, .stack = record.stack};
  HistOutcome outcome =
      instance.histograms.count(trigger, hit, instance.next_stamp(record.timestamp_ns), instance.stamps_ns());
  fired.is_counted |= outcome.is_counted;
  fired.is_dropped |= outcome.is_dropped;
  std::ranges::move(outcome.synthetic, std::back_inserter(fired.synthetic));
  if (!outcome.takes_snapshot) return;
  instance.take_snapshot();
  fired.took_snapshot = true;
}

TriggerRunner::Fired TriggerRunner::run(Instance& instance, const TracedEvent& event, const runtime::Record& record,
                                        Stack stack) const {
  const RecordContext context{.record = record.bytes, .cpu = record.cpu, .comm = record.comm};
  Fired fired;
  for (const model::Trigger& trigger : instance.triggers.of({event.group, event.name})) {
    if (trigger.condition && !holds(*trigger.condition, event.layout, context)) continue;
    if (trigger.kind == model::TriggerKind::Hist) {
      // A histogram needs a reserved record, and with set_event_pid other threads reserve none.
      if (trigger.state == model::HistState::Active && instance.lets_thread_through(model::pid_of(record.bytes)))
        count(instance, trigger, record, fired);
    } else if (trigger.kind == model::TriggerKind::Stacktrace) {
      fired.wants_stack = stack == Stack::Comes;  // else the record was made before the trigger was set
    } else if (trigger.kind == model::TriggerKind::TraceOff) {
      fired.turns_off = true;
    } else {
      fired.took_snapshot |= trigger.kind == model::TriggerKind::Snapshot && may_act(instance, trigger);
      act(instance, trigger);
    }
  }
  return fired;
}

bool TriggerRunner::run_late(Instance& instance, const TracedEvent& event, const Fired& fired) const {
  if (!fired.turns_off && !fired.wants_stack) return false;
  bool stores_stack = false;
  for (const model::Trigger& trigger : instance.triggers.of({event.group, event.name})) {
    const bool is_stack = trigger.kind == model::TriggerKind::Stacktrace;
    if (!acts_late(trigger.kind) || !(is_stack ? fired.wants_stack : fired.turns_off)) continue;
    stores_stack |= is_stack && instance.tracing_on && may_act(instance, trigger);
    act(instance, trigger);
  }
  return stores_stack;
}

}  // namespace kevt::engine
