// Mirrors event_trigger_regex_write(), event_trigger_parse() and event_enable_trigger_parse() of
// kernel/trace/trace_events_trigger.c (6.1).
#include "runtime-user/engine/events/trigger_files.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/clock.h"
#include "runtime-user/engine/events/written_text.h"
#include "runtime-user/engine/histograms/hist_text.h"

namespace kevt::engine {

namespace {

bool reads_stack(const model::Trigger& trigger) {
  return trigger.kind == model::TriggerKind::Stacktrace ||
         (trigger.kind == model::TriggerKind::Hist && uses_stack(trigger.histogram));
}

bool takes_snapshot(const model::Trigger& trigger) {
  return trigger.kind == model::TriggerKind::Snapshot ||
         (trigger.kind == model::TriggerKind::Hist && takes_snapshots(trigger.histogram));
}

const TraceClockFacts* find_clock(std::string_view name) {
  const auto all = trace_clock_facts();
  const auto found = std::ranges::find(all, name, &TraceClockFacts::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

// Arms the event that the trigger switches first, then the trigger's own event; on an error both are undone in reverse.
Result<void> TriggerFiles::add(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = state_.events.find(owner.system, owner.event);
  instance.triggers.apply(sema::AddTrigger{owner, trigger});
  if (trigger.count) instance.trigger_counts.try_emplace(trigger.id, *trigger.count);
  if (takes_snapshot(trigger)) instance.reserve_snapshot();
  add_histogram(instance, owner, trigger);
  const TracedEvent* target = state_.events.needed_by(trigger);
  auto done = target ? switcher_.use_softly(instance, *target, +1) : Result<void>{};
  const bool is_target_used = target && done;
  if (done && event) done = switcher_.use_softly(instance, *event, +1);
  if (done) {
    use_clock(instance, trigger);
    return done;
  }
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  if (is_target_used) (void)switcher_.use_softly(instance, *target, -1);
  instance.trigger_counts.erase(trigger.id);
  remove_histogram(instance, trigger);
  return done;
}

void TriggerFiles::add_histogram(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  if (trigger.kind != model::TriggerKind::Hist) return;
  instance.histograms.add(trigger, state_.events.catalog().find(owner.system, owner.event)->layout,
                          state_.options.kernel_drops);
}

// A histogram with time stamps sets the instance's clock to its own, as tracing_set_clock() does.
void TriggerFiles::use_clock(Instance& instance, const model::Trigger& trigger) {
  if (trigger.kind != model::TriggerKind::Hist || !trigger.histogram.uses_timestamps) return;
  const TraceClockFacts* clock = find_clock(trigger.histogram.clock);
  if (clock && clock->clock != instance.clock) instance.set_clock(clock->clock);
}

void TriggerFiles::remove_histogram(Instance& instance, const model::Trigger& trigger) {
  if (trigger.kind == model::TriggerKind::Hist)
    instance.histograms.remove(trigger, !instance.triggers.is_counted_by_any(trigger.histogram.id));
}

// If the code of the trigger's own event cannot be changed, the trigger stays, and the event that it switches stays
// armed.
Result<void> TriggerFiles::remove(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = state_.events.find(owner.system, owner.event);
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  auto done = event ? switcher_.use_softly(instance, *event, -1) : Result<void>{};
  if (!done) {
    instance.triggers.apply(sema::AddTrigger{owner, trigger});
    return done;
  }
  if (event && trigger.kind == model::TriggerKind::Hist) aggregation_.retire(*event);
  if (const TracedEvent* target = state_.events.needed_by(trigger))
    if (auto given_back = switcher_.use_softly(instance, *target, -1); done) done = given_back;
  instance.trigger_counts.erase(trigger.id);
  remove_histogram(instance, trigger);
  return done;
}

// Hits up to now are counted before a histogram is paused, cleared or removed.
Result<void> TriggerFiles::apply(Instance& instance, const sema::TriggerStep& step) {
  if (!std::holds_alternative<sema::AddTrigger>(step)) {
    records_.drain();
    aggregation_.collect();
  }
  if (const auto* added = std::get_if<sema::AddTrigger>(&step)) return add(instance, added->event, added->trigger);
  if (const auto* removed = std::get_if<sema::RemoveTrigger>(&step)) {
    const auto all = instance.triggers.of(removed->event);
    const auto it = std::ranges::find(all, removed->id, &model::Trigger::id);
    if (it == all.end()) return {};
    const model::Trigger trigger = *it;
    return remove(instance, removed->event, trigger);
  }
  if (const auto* cleared = std::get_if<sema::ClearHist>(&step)) {
    const auto all = instance.triggers.of(cleared->event);
    const auto it = std::ranges::find(all, cleared->id, &model::Trigger::id);
    if (it == all.end()) return {};
    auto done = give_up_at_hits(instance, it->histogram);
    instance.histograms.clear(it->histogram);
    return done;
  }
  instance.triggers.apply(step);
  const auto* state = std::get_if<sema::SetHistState>(&step);
  const TracedEvent* event = state ? state_.events.find(state->event.system, state->event.event) : nullptr;
  if (!event) return {};
  const TracedEvent* const changed[] = {event};
  return switcher_.sync(changed);
}

// Removes the triggers of these steps, including a histogram that was made on another event for this trigger.
void TriggerFiles::take_back(Instance& instance, std::span<const sema::TriggerStep> steps) {
  for (auto it = steps.rbegin(); it != steps.rend(); ++it)
    if (const auto* added = std::get_if<sema::AddTrigger>(&*it)) (void)remove(instance, added->event, added->trigger);
}

// The event that the step's trigger is on. `written`: the event whose file was written.
const TracedEvent& TriggerFiles::owner_of(const sema::AddTrigger& step, const TracedEvent& written) const {
  const TracedEvent* owner = state_.events.find(step.event.system, step.event.event);
  return owner ? *owner : written;
}

Result<void> TriggerFiles::can_run(const model::Trigger& trigger, const TracedEvent& event) const {
  if (takes_snapshot(trigger) && state_.options.is_tapped)
    return std::unexpected(Error(
        "`snapshot` keeps a buffer aside; records of `run` are written as they come (`kevtrace mount` has buffers)",
        EOPNOTSUPP));
  const bool needs_clock = trigger.kind == model::TriggerKind::Hist && trigger.histogram.uses_timestamps;
  if (needs_clock && !find_clock(trigger.histogram.clock))
    return std::unexpected(Error(
        "there is no trace clock `" + trigger.histogram.clock + "` here (the file trace_clock names them)", EINVAL));
  if (!reads_stack(trigger) || event.is_static()) return {};
  if (event.is_made_by_reader()) return std::unexpected(Error("records of this event have no stack", EOPNOTSUPP));
  return state_.code.installed().prepare_stacks();
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
      if (auto can = can_run(added->trigger, owner_of(*added, event)); !can) {
        instance.errors.add(can.error().message(), stripped(text), now_ns());
        return can;
      }
  for (std::size_t i = 0; i < change->steps.size(); ++i)
    if (auto done = apply(instance, change->steps[i]); !done) {
      take_back(instance, std::span(change->steps).first(i));
      return done;
    }
  for (auto it = change->remarks.rbegin(); it != change->remarks.rend(); ++it) instance.errors.add(*it, now_ns());
  return {};
}

Result<void> TriggerFiles::truncate(Instance& instance, const TracedEvent& event) {
  for (const sema::TriggerStep& step : sema::truncate_triggers(event.full_name(), instance.triggers))
    KEVT_TRY(apply(instance, step));
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

std::string TriggerFiles::hist_text(const Instance& instance, const TracedEvent& event) {
  aggregation_.collect();
  return collected_text(instance, event);
}

std::uint64_t TriggerFiles::hist_hits(const Instance& instance, const TracedEvent& event) {
  aggregation_.collect();
  std::uint64_t hits = 0;
  for (const model::Trigger& trigger : instance.triggers.of(event.full_name())) {
    if (trigger.kind != model::TriggerKind::Hist) continue;
    if (const HistTable* table = instance.histograms.find(trigger.histogram)) hits += table->hits();
  }
  return hits;
}

Result<void> TriggerFiles::give_up_at_hits(Instance& instance, const model::Histogram& histogram) {
  if (!aggregation_.give_up(histogram)) return {};
  const auto counts_into = [&](const model::Trigger& one) {
    return one.kind == model::TriggerKind::Hist && one.histogram.id == histogram.id;
  };
  std::vector<const TracedEvent*> counting;
  for (const auto& [owner, triggers] : instance.triggers.events())
    if (std::ranges::any_of(triggers, counts_into))
      if (const TracedEvent* event = state_.events.find(owner.system, owner.event)) counting.push_back(event);
  auto done = switcher_.sync(counting);
  records_.drain();
  aggregation_.collect();
  aggregation_.note_given_up(histogram);
  return done;
}

// Where code cannot be exchanged, hits go on counting in its tables, and most of them are dropped.
TriggerFiles::HistReading TriggerFiles::take_histograms(Instance& instance, std::span<const TracedEvent* const> events,
                                                        HistForms forms) {
  if (!records_.is_finished())  // another reading will come
    for (const TracedEvent* event : events)
      for (const model::Trigger& trigger : instance.triggers.of(event->full_name()))
        if (trigger.kind == model::TriggerKind::Hist) (void)give_up_at_hits(instance, trigger.histogram);
  aggregation_.collect();
  HistReading reading;
  const std::string head = instance.name.empty() ? "" : instance.name + '/';
  for (const TracedEvent* event : events) {
    if (forms != HistForms::Snapshots) reading.texts.push_back(collected_text(instance, *event));
    if (forms == HistForms::Texts) continue;
    for (const model::Trigger& trigger : instance.triggers.of(event->full_name())) {
      if (trigger.kind != model::TriggerKind::Hist) continue;
      const HistTable* table = instance.histograms.find(trigger.histogram);
      if (table)
        reading.snapshots.push_back(hist_snapshot(head + event->group + ':' + event->name, trigger, *table, envs()));
    }
  }
  start_histograms_over(instance, events);
  return reading;
}

void TriggerFiles::start_histograms_over(Instance& instance, std::span<const TracedEvent* const> events) {
  for (const TracedEvent* event : events)
    for (const model::Trigger& trigger : instance.triggers.of(event->full_name()))
      if (trigger.kind == model::TriggerKind::Hist) instance.histograms.start_over(trigger.histogram);
}

std::vector<const target::TargetEnv*> TriggerFiles::envs() const {
  std::vector<const target::TargetEnv*> envs;
  for (TracedTarget* target : state_.code.installed().targets()) envs.push_back(&target->known_env());
  return envs;
}

std::string TriggerFiles::collected_text(const Instance& instance, const TracedEvent& event) const {
  return hist_file_text(instance.triggers.of(event.full_name()), instance.histograms, envs());
}

}  // namespace kevt::engine
