// An event's code is shared by all instances. The filter is compiled into the code if only one instance has the event
// on and the reader runs no triggers of the event (triggers also see hits that the filter rejects). Otherwise all hits
// come to the reader and each instance filters for itself (RecordRouter). The same goes for triggers (TriggerInliner)
// and histograms (HitAggregation). A change between the two exchanges the code (ProbeRuntime::replace says what becomes
// of hits meanwhile).
//
// Soft mode: a trigger needs its own event and the event that it switches armed without recording; the file enable
// reads `0*`:
//
//   registered softly_on soft_users       off 0: 0, 1, 0    on 1: 1, 1, 0    with a trigger 0*: 1, 0, 1    1*: 1, 1, 1
//
// Mirrors __ftrace_event_enable_disable() of kernel/trace/trace_events.c (6.1).
#include "runtime-user/engine/code/event_switcher.h"

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>

#include "common/clock.h"
#include "compiler/sema/filter.h"

namespace kevt::engine {

namespace {

// An event's switches before a change, to be put back if the code cannot be made.
struct Switched {
  EventState* state;
  bool registered, softly_on;

  explicit Switched(EventState& of) : state(&of), registered(of.registered), softly_on(of.softly_on) {}
  void put_back() const {
    state->registered = registered;
    state->softly_on = softly_on;
  }
};

// A filter that rejects every hit.
model::FilterExpr nothing() {
  model::FilterExpr never;
  never.predicate.source = model::FilterOperand::CommonType;
  return never;
}

}  // namespace

// ---- code -----------------------------------------------------------------------------------

CodeRequest EventSwitcher::request_for(const TracedEvent& event) {
  CodeRequest request{.event = &event};
  const EventState* only = nullptr;
  bool shared = false;
  const bool has_hits = !event.is_made_by_reader();
  for (const auto& instance : state_.instances) {
    const EventState* one = instance->find_state(event.id);
    if (!one || !one->registered) continue;
    shared = shared || only || (instance->has_triggers(event) && instance.get() != inliner_.instance());
    only = one;
    request.wants_stack = request.wants_stack || (has_hits && instance->wants_stack_of(event));
  }
  request.histograms = aggregation_.of(event);
  if (!request.histograms.empty()) {
    request.inline_key = HitAggregation::key_of(request.histograms);
    aggregation_.note_counted(event);
  } else if (only && inliner_.instance()) {
    request.inline_triggers = inliner_.triggers_of(event);
    request.inline_key = inliner_.key_of(event, request.inline_triggers);
  }
  if (only && request.histograms.empty() && aggregation_.is_paused(event)) {
    request.filter = nothing();
    request.filter_text = "\npaused";  // no filter that can be written
  }
  request.armed = only != nullptr && probes_armed_;
  request.injection = injection_of(event);
  if (only && !shared && !request.filter && request.histograms.empty() && only->filter &&
      !sema::is_only_judged(*only->filter)) {
    request.filter = only->filter;
    request.filter_text = *only->filter_text;
  }
  return request;
}

std::expected<void, CodeRefusal> EventSwitcher::apply(std::span<const TracedEvent* const> events) {
  std::vector<const TracedEvent*> ordered(events.begin(), events.end());
  std::ranges::sort(ordered, {}, &TracedEvent::id);  // in the order of definitions
  std::vector<CodeRequest> requests;
  for (const TracedEvent* event : ordered) requests.push_back(request_for(*event));
  for (const CodeRequest& request : requests) {
    if (auto refusal = why_not_injected(request)) return std::unexpected(*std::move(refusal));
    const TracedEvent& event = *request.event;
    if (!request.armed || !event.stands_on_synthetic) continue;
    const std::string& command = event.probes.front().definition().command;
    if (auto made = state_.reader_probes.prepare(event, *state_.envs(command).front()); !made)
      return std::unexpected(CodeRefusal{std::move(made.error()), command, event.probes.front().serial});
  }
  return state_.code.apply(requests);
}

// An injection takes place after the checks in the code, but before those of the reader.
std::optional<CodeRefusal> EventSwitcher::why_not_injected(const CodeRequest& request) const {
  if (!request.injection || !request.armed) return std::nullopt;
  for (const auto& instance : state_.instances) {
    const EventState* one = instance->find_state(request.event->id);
    if (!one || !one->registered) continue;
    const bool is_asked_by_hits = instance.get() == inliner_.instance();
    const bool has_filter = one->filter.has_value() && !request.filter;
    if (!has_filter && (is_asked_by_hits || (one->softly_on && !instance->has_triggers(*request.event)))) continue;
    return CodeRefusal{
        Error("`" + request.event->name +
                  "` injects: its filter and triggers have to be asked at the hit, which cannot be done here (a "
                  "second instance, several processes, a trigger that the reader carries out)",
              EOPNOTSUPP),
        request.event->probes.front().definition().command};
  }
  return std::nullopt;
}

// If hits begin or cease to carry out triggers, the code of all events changes.
std::expected<void, CodeRefusal> EventSwitcher::apply_by(Instance* at_hits,
                                                         std::span<const TracedEvent* const> events) {
  Instance* const before = inliner_.use(at_hits);
  std::vector<const TracedEvent*> all(events.begin(), events.end());
  if (at_hits != before) {
    const std::unordered_set<const TracedEvent*> named(events.begin(), events.end());
    for (const auto& [id, event] : state_.events.events())
      if (state_.instances.is_armed(id) && !named.contains(event.get())) all.push_back(event.get());
  }
  auto done = apply(all);
  if (!done) {
    inliner_.use(before);
  } else if (at_hits != before) {
    inliner_.note_applied();
    records_.drain();  // records of the old code, which hits no longer switch
  }
  return done;
}

std::optional<model::Injection> EventSwitcher::injection_of(const TracedEvent& event) const {
  for (const EventInjection& one : state_.options.injections)
    if (names_event(one.event, event.group, event.name)) return one.injection;
  return std::nullopt;
}

Result<void> EventSwitcher::sync(std::span<const TracedEvent* const> events) {
  if (postponed_) {
    postponed_->insert(postponed_->end(), events.begin(), events.end());
    return {};
  }
  auto done = try_sync(events);
  if (done) return {};
  state_.instances.top().errors.add(done.error().error.message(), done.error().command, now_ns());
  return std::unexpected(std::move(done.error().error));
}

std::expected<void, CodeRefusal> EventSwitcher::try_sync(std::span<const TracedEvent* const> events) {
  records_.drain();  // older records are judged by the old state
  Instance* const wanted = inliner_.choose();
  auto done = apply_by(wanted, events);
  if (!done && wanted) done = apply_by(nullptr, events);  // a condition that code cannot check
  if (done)
    armed_ = static_cast<std::size_t>(std::ranges::count_if(
        state_.events.events(), [&](const auto& one) { return state_.instances.is_armed(one.first); }));
  return done;
}

Result<void> EventSwitcher::set_probes_armed(bool armed) {
  const bool before = std::exchange(probes_armed_, armed);
  std::vector<const TracedEvent*> all;
  for (const auto& [id, event] : state_.events.events())
    if (state_.instances.is_armed(id)) all.push_back(event.get());
  auto done = sync(all);
  if (!done) probes_armed_ = before;
  return done;
}

Result<void> EventSwitcher::use_jumps(bool wanted) {
  for (TracedTarget* target : state_.code.installed().targets()) {
    if (!target->is_alive()) continue;
    if (auto done = target->runtime().use_jumps(wanted); !done)
      return std::unexpected(std::move(done.error()).while_doing(target->name()));
  }
  uses_jumps_ = wanted;
  return {};
}

// ---- on and off -----------------------------------------------------------------------------

std::expected<void, CodeRefusal> EventSwitcher::switch_together(Instance& instance,
                                                                std::span<const TracedEvent* const> events, bool on) {
  records_.drain();  // older records are judged by the old state
  std::vector<Switched> before;
  for (const TracedEvent* event : events) {
    EventState& one = instance.state_of(event->id);
    before.emplace_back(one);
    one.softly_on = on || one.soft_users == 0;
    one.registered = on || one.soft_users > 0;
  }
  auto done = try_sync(events);
  if (!done) std::ranges::for_each(before, &Switched::put_back);
  return done;
}

// First tries all events in one step. If one of them is refused, tries each half alone, and so on down to single
// events: the others are switched, and the first refusal is returned.
Result<void> EventSwitcher::set_enabled(Instance& instance, std::span<const TracedEvent* const> events, bool on) {
  auto done = switch_together(instance, events, on);
  if (done) return {};
  if (events.size() < 2) {
    state_.instances.top().errors.add(done.error().error.message(), done.error().command, now_ns());
    return std::unexpected(std::move(done.error().error));
  }
  const std::size_t half = events.size() / 2;
  auto first = set_enabled(instance, events.first(half), on);
  auto second = set_enabled(instance, events.subspan(half), on);
  return first ? second : first;
}

std::expected<std::vector<CodeRefusal>, CodeRefusal> EventSwitcher::switch_on(std::span<const InstanceEvent> events) {
  auto postponed = std::exchange(postponed_, std::nullopt);
  std::vector<const TracedEvent*> changed;
  for (const InstanceEvent& one : events) changed.push_back(one.event);
  if (postponed) changed.insert(changed.end(), postponed->begin(), postponed->end());
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  records_.drain();  // older records are judged by the old state
  std::vector<Switched> before;
  for (const auto& [instance, event] : events) {
    EventState& one = instance->state_of(event->id);
    before.emplace_back(one);
    one.registered = true;
    one.softly_on = true;
  }
  auto done = try_sync(changed);
  if (done) return state_.code.take_left_out();
  std::ranges::for_each(before, &Switched::put_back);
  postponed_ = std::move(postponed);
  return std::unexpected(std::move(done.error()));
}

Result<void> EventSwitcher::use_softly(Instance& instance, const TracedEvent& event, int change) {
  records_.drain();  // older records are judged by the old state
  EventState& one = instance.state_of(event.id);
  const Switched before(one);
  const auto users = one.soft_users;
  if (change > 0) {
    if (one.soft_users++ == 0 && !one.registered) {
      one.softly_on = false;
      one.registered = true;
    }
  } else if (one.soft_users > 0 && --one.soft_users == 0 && !one.softly_on) {
    one.registered = false;
    one.softly_on = true;
  }
  const TracedEvent* const changed[] = {&event};
  auto done = sync(changed);
  if (!done) {
    before.put_back();
    one.soft_users = users;
  }
  return done;
}

Result<void> EventSwitcher::release(Instance& instance) {
  records_.drain();  // older records are judged by the old state
  auto triggers = std::exchange(instance.triggers, {});
  std::vector<const TracedEvent*> on;
  for (auto& [id, one] : instance.events)
    if (one.registered) {
      one.registered = false;
      if (const TracedEvent* event = state_.events.find(id)) on.push_back(event);
    }
  auto done = sync(on);
  if (done) return done;
  instance.triggers = std::move(triggers);
  for (const TracedEvent* event : on) instance.state_of(event->id).registered = true;
  return done;
}

// With a list of pids hits do not count histograms by themselves, so the code of events with histograms changes.
Result<void> EventSwitcher::follow_pids(const Instance& instance) {
  std::vector<const TracedEvent*> counted;
  for (const auto& [id, event] : state_.events.events())
    if (instance.has_trigger(*event, model::TriggerKind::Hist)) counted.push_back(event.get());
  return counted.empty() ? Result<void>{} : sync(counted);
}

// For probes of processes either option means the user stack; for the kernel only `stacktrace` exists.
Result<void> EventSwitcher::set_option(Instance& instance, TraceOption option, bool on) {
  records_.drain();
  const bool before = instance.options.has(option);
  instance.options.set(option, on);
  if (option != TraceOption::UserStacktrace && option != TraceOption::Stacktrace) return {};
  auto done = on ? state_.code.installed().prepare_stacks() : Result<void>{};
  std::vector<const TracedEvent*> armed;
  for (const auto& [id, event] : state_.events.events())
    if (const EventState* one = instance.find_state(id); one && one->registered) armed.push_back(event.get());
  if (done && !armed.empty()) done = sync(armed);
  if (!done) instance.options.set(option, before);
  return done;
}

}  // namespace kevt::engine
