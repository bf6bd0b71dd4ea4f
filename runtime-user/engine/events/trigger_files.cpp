// Mirrors event_trigger_regex_write(), event_trigger_parse() and event_enable_trigger_parse() of
// kernel/trace/trace_events_trigger.c (6.1).
#include "runtime-user/engine/events/trigger_files.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/clock.h"
#include "runtime-user/engine/events/written_text.h"

namespace kevt::engine {

namespace {

// What nobody here carries out is refused when it is set, not silently left undone.
const char* why_not_run(const model::Trigger& trigger, const TracedEvent& event) {
  switch (trigger.kind) {
    case model::TriggerKind::Stacktrace:
      return event.owner != target::EventOwner::Synthetic ? nullptr : "records of this event have no stack";
    case model::TriggerKind::Hist:
    case model::TriggerKind::EnableHist:
    case model::TriggerKind::DisableHist:
      return "`hist` triggers are not run yet";
    case model::TriggerKind::TraceOn:
    case model::TriggerKind::TraceOff:
    case model::TriggerKind::Snapshot:
    case model::TriggerKind::EnableEvent:
    case model::TriggerKind::DisableEvent:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

// First what is acted on, then the code that acts; and back in the other order.
Result<void> TriggerFiles::add(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = state_.events.find(owner.system, owner.event);
  instance.triggers.apply(sema::AddTrigger{owner, trigger});
  if (trigger.count) instance.trigger_counts.try_emplace(trigger.id, *trigger.count);
  if (trigger.kind == model::TriggerKind::Snapshot) instance.reserve_snapshot();
  const TracedEvent* target = state_.events.switched_by(trigger);
  auto done = target ? switcher_.use_softly(instance, *target, +1) : Result<void>{};
  const bool is_target_used = target && done;
  if (done && event) done = sync_stacks(*event);
  if (done && event) done = switcher_.use_softly(instance, *event, +1);
  if (done) return done;
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  if (event) (void)sync_stacks(*event);
  if (is_target_used) (void)switcher_.use_softly(instance, *target, -1);
  instance.trigger_counts.erase(trigger.id);
  return done;
}

// Where the code that acts cannot be taken out, the trigger stays, and so does what it acts on.
Result<void> TriggerFiles::remove(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = state_.events.find(owner.system, owner.event);
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  auto done = event ? switcher_.use_softly(instance, *event, -1) : Result<void>{};
  if (!done) {
    instance.triggers.apply(sema::AddTrigger{owner, trigger});
    return done;
  }
  if (event) done = sync_stacks(*event);
  if (const TracedEvent* target = state_.events.switched_by(trigger))
    if (auto given_back = switcher_.use_softly(instance, *target, -1); done) done = given_back;
  instance.trigger_counts.erase(trigger.id);
  return done;
}

// Of the kernel's own events; those of probes are other code, which is synchronized with everything else.
Result<void> TriggerFiles::sync_stacks(const TracedEvent& event) {
  if (!event.is_static()) return {};
  const bool wanted = std::ranges::any_of(state_.instances, [&](const auto& instance) {
    return instance->has_trigger(event, model::TriggerKind::Stacktrace);
  });
  return state_.code.static_events()->set_stacks(event.id, wanted);
}

Result<void> TriggerFiles::apply(Instance& instance, const sema::TriggerStep& step) {
  if (const auto* added = std::get_if<sema::AddTrigger>(&step)) return add(instance, added->event, added->trigger);
  if (const auto* removed = std::get_if<sema::RemoveTrigger>(&step)) {
    const auto all = instance.triggers.of(removed->event);
    const auto it = std::ranges::find(all, removed->id, &model::Trigger::id);
    if (it == all.end()) return {};
    const model::Trigger trigger = *it;
    return remove(instance, removed->event, trigger);
  }
  instance.triggers.apply(step);
  return {};
}

Result<void> TriggerFiles::can_run(const Instance& instance, const model::Trigger& trigger,
                                   const TracedEvent& event) const {
  if (trigger.kind == model::TriggerKind::Snapshot && state_.is_tapped(instance))
    return std::unexpected(Error(
        "`snapshot` keeps a buffer aside; records of `run` are written as they come (`kevtrace mount` has buffers)",
        EOPNOTSUPP));
  if (const char* why = why_not_run(trigger, event)) return std::unexpected(Error(why, EOPNOTSUPP));
  if (trigger.kind != model::TriggerKind::Stacktrace || event.is_static()) return {};
  return state_.code.can_unwind();
}

Result<void> TriggerFiles::write(Instance& instance, const TracedEvent& event, std::string_view text) {
  if (text.empty()) return {};
  if (text.size() >= kMaxWrittenBytes) return std::unexpected(Error::of_errno(EINVAL));
  diag::Sink sink;
  const sema::TriggerWorld world{
      .catalog = state_.events.catalog(), .table = instance.triggers, .dialect = state_.options.check.dialect};
  auto change = sema::write_trigger(text, event.full_name(), world, sink);
  if (!change) {
    auto mistakes = sink.take();
    if (mistakes.empty()) return std::unexpected(Error::of_errno(EINVAL));
    const int value = mistakes.front().errno_value;
    for (auto it = mistakes.rbegin(); it != mistakes.rend(); ++it) instance.errors.add(*it, now_ns());
    return std::unexpected(Error::of_errno(value));
  }
  for (const sema::TriggerStep& step : change->steps)
    if (const auto* added = std::get_if<sema::AddTrigger>(&step))
      if (auto can = can_run(instance, added->trigger, event); !can) {
        instance.errors.add(can.error().message(), stripped(text), now_ns());
        return can;
      }
  for (const sema::TriggerStep& step : change->steps)
    if (auto done = apply(instance, step); !done) return done;
  for (auto it = change->remarks.rbegin(); it != change->remarks.rend(); ++it) instance.errors.add(*it, now_ns());
  return {};
}

Result<void> TriggerFiles::truncate(Instance& instance, const TracedEvent& event) {
  for (const sema::TriggerStep& step : sema::truncate_triggers(event.full_name(), instance.triggers))
    if (auto done = apply(instance, step); !done) return done;
  return {};
}

std::string TriggerFiles::text(const Instance& instance, const TracedEvent& event) const {
  const auto all = instance.triggers.of(event.full_name());
  std::vector<model::Trigger> now(all.begin(), all.end());
  for (model::Trigger& trigger : now)
    if (const auto left = instance.trigger_counts.find(trigger.id); left != instance.trigger_counts.end())
      trigger.count = left->second.left();
  return sema::trigger_file_text(now);
}

}  // namespace kevt::engine
