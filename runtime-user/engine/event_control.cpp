// Switching events, their filters and triggers.
//
// An event's code is shared by all instances. Where one instance alone has the event on, and no reader runs triggers,
// which see what the filter rejects, its filter is compiled into the code; else all hits come here and each instance
// decides for itself (hits.cpp). Triggers likewise (hit_switches.cpp). Changing from one to the other exchanges the
// code (ProbeRuntime::replace says what becomes of hits in between).
//
// Soft mode: a trigger needs its event armed, and its target's, without recording; `0*` in the file enable:
//
//   registered softly_on soft_users       off 0: 0, 1, 0    on 1: 1, 1, 0    with a trigger 0*: 1, 0, 1    1*: 1, 1, 1
//
// Mirrors __ftrace_event_enable_disable(), apply_event_filter(), event_trigger_parse() of kernel/trace (6.1).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "compiler/sema/filter.h"
#include "compiler/sema/trigger.h"
#include "grammar/parse_filter.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kPageBytes = 4096;

std::string_view stripped(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

model::EventName name_of(const TracedEvent& event) { return {event.group, event.name}; }

bool has_triggers(const Instance& instance, const TracedEvent& event) {
  return !instance.triggers.of(name_of(event)).empty();
}

}  // namespace

// ---- code -----------------------------------------------------------------------------------

CodeRequest Tracing::request_for(const TracedEvent& event) {
  CodeRequest request{.event = &event};
  const EventState* only = nullptr;
  bool shared = false;
  for (const auto& instance : instances_) {
    const EventState* one = state(*instance, event.id);
    if (!one || !one->registered) continue;
    shared = shared || only || (has_triggers(*instance, event) && instance.get() != at_hits_);
    only = one;
    request.samples_stack = request.samples_stack || wants_stack_sample(*instance, event);
  }
  if (only && at_hits_) {
    request.switches = switches_for(*at_hits_, event);
    request.switches_text = switches_text(*at_hits_, event, request.switches);
  }
  request.armed = only != nullptr && probes_armed_;
  request.injection = injection_of(event);
  if (only && !shared && only->filter && !sema::is_only_judged(*only->filter)) {
    request.filter = only->filter;
    request.filter_text = *only->filter_text;
  }
  return request;
}

std::expected<void, CodeRefusal> Tracing::apply(std::span<const TracedEvent* const> events) {
  std::vector<const TracedEvent*> ordered(events.begin(), events.end());
  std::ranges::sort(ordered, {}, &TracedEvent::id);  // as they were defined
  std::vector<CodeRequest> requests;
  for (const TracedEvent* event : ordered) requests.push_back(request_for(*event));
  for (const CodeRequest& request : requests)
    if (auto refusal = why_not_injected(request)) return std::unexpected(*std::move(refusal));
  return code_.apply(requests);
}

// An injection goes behind what the code asks, and before what the reader asks.
std::optional<CodeRefusal> Tracing::why_not_injected(const CodeRequest& request) const {
  if (!request.injection || !request.armed) return std::nullopt;
  for (const auto& instance : instances_) {
    const EventState* one = state(*instance, request.event->id);
    if (!one || !one->registered) continue;
    const bool is_asked_by_hits = instance.get() == at_hits_;
    const bool has_filter = one->filter.has_value() && !request.filter;
    if (!has_filter && (is_asked_by_hits || (one->softly_on && !has_triggers(*instance, *request.event)))) continue;
    return CodeRefusal{
        Error("`" + request.event->name +
                  "` injects: its filter and triggers have to be asked at the hit, which cannot be done here (a "
                  "second instance, several processes, a trigger that the reader carries out)",
              EOPNOTSUPP),
        request.event->probes.front().definition.command};
  }
  return std::nullopt;
}

// Where hits begin or cease to decide, the code of all events changes.
std::expected<void, CodeRefusal> Tracing::apply_by(Instance* at_hits, std::span<const TracedEvent* const> events) {
  Instance* const before = std::exchange(at_hits_, at_hits);
  std::vector<const TracedEvent*> all(events.begin(), events.end());
  if (at_hits_ != before) {
    const std::unordered_set<const TracedEvent*> named(events.begin(), events.end());
    for (const auto& [id, event] : events_.events())
      if (is_armed(id) && !named.contains(event.get())) all.push_back(event.get());
  }
  auto done = apply(all);
  if (!done) {
    at_hits_ = before;
  } else if (at_hits_ != before) {
    if (at_hits_) asked_by_hits_ = at_hits_;
    drain();  // what came while code was made: what hits switch from now on is not for it
  }
  return done;
}

std::optional<model::Injection> Tracing::injection_of(const TracedEvent& event) const {
  for (const EventInjection& one : options_.injections)
    if (names_event(one.event, event.group, event.name)) return one.injection;
  return std::nullopt;
}

Result<void> Tracing::sync(std::span<const TracedEvent* const> events) {
  if (postponed_) {
    postponed_->insert(postponed_->end(), events.begin(), events.end());
    return {};
  }
  auto done = try_sync(events);
  if (done) return {};
  top().errors.add(done.error().error.message(), done.error().command, now_ns());
  return std::unexpected(std::move(done.error().error));
}

std::expected<void, CodeRefusal> Tracing::try_sync(std::span<const TracedEvent* const> events) {
  drain();  // what was recorded under the old state is judged by it
  Instance* const wanted = instance_for_hits();
  auto done = apply_by(wanted, events);
  if (!done && wanted) done = apply_by(nullptr, events);  // a condition that code cannot ask
  if (done)
    active_ = static_cast<std::size_t>(
        std::ranges::count_if(events_.events(), [&](const auto& one) { return is_armed(one.first); }));
  return done;
}

Result<void> Tracing::set_probes_armed(bool armed) {
  const bool before = std::exchange(probes_armed_, armed);
  std::vector<const TracedEvent*> all;
  for (const auto& [id, event] : events_.events())
    if (is_armed(id)) all.push_back(event.get());
  auto done = sync(all);
  if (!done) probes_armed_ = before;
  return done;
}

Result<void> Tracing::use_jumps(bool wanted) {
  for (TracedTarget* target : code_.targets()) {
    if (!target->is_alive()) continue;
    if (auto done = target->runtime().use_jumps(wanted); !done)
      return std::unexpected(std::move(done.error()).while_doing(target->name()));
  }
  uses_jumps_ = wanted;
  return {};
}

std::vector<CodeRefusal> Tracing::libraries_changed(TracedTarget& target) {
  drain();
  std::vector<CodeRequest> requests;
  for (const auto& [id, event] : events_.events())
    if (code_.is_deferred(id, target)) requests.push_back(request_for(*event));
  auto refusals = code_.place_deferred(requests, target);
  for (const CodeRefusal& refusal : refusals) top().errors.add(refusal.error.message(), refusal.command, now_ns());
  return refusals;
}

// ---- on and off -----------------------------------------------------------------------------

std::expected<void, CodeRefusal> Tracing::switch_together(Instance& instance,
                                                          std::span<const TracedEvent* const> events, bool on) {
  struct Before {
    bool registered, softly_on;
  };
  std::vector<Before> before;
  for (const TracedEvent* event : events) {
    EventState& one = touch(instance, *event);
    before.push_back({one.registered, bool(one.softly_on)});
    one.softly_on = on || one.soft_users == 0;
    one.registered = on || one.soft_users > 0;
  }
  auto done = try_sync(events);
  for (std::size_t i = 0; i < events.size() && !done; ++i) {
    EventState& one = touch(instance, *events[i]);
    one.registered = before[i].registered;
    one.softly_on = before[i].softly_on;
  }
  return done;
}

// All in one step; where one of them is in the way, each half on its own, down to that one: the others are on then, and
// the first refusal is the answer.
Result<void> Tracing::set_enabled(Instance& instance, std::span<const TracedEvent* const> events, bool on) {
  auto done = switch_together(instance, events, on);
  if (done) return {};
  if (events.size() < 2) {
    top().errors.add(done.error().error.message(), done.error().command, now_ns());
    return std::unexpected(std::move(done.error().error));
  }
  const std::size_t half = events.size() / 2;
  auto first = set_enabled(instance, events.first(half), on);
  auto second = set_enabled(instance, events.subspan(half), on);
  return first ? second : first;
}

std::expected<std::vector<CodeRefusal>, CodeRefusal> Tracing::switch_on(std::span<const TracedEvent* const> events) {
  struct Before {
    bool registered, softly_on;
  };
  auto postponed = std::exchange(postponed_, std::nullopt);
  std::vector<const TracedEvent*> changed(events.begin(), events.end());
  if (postponed) changed.insert(changed.end(), postponed->begin(), postponed->end());
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  std::vector<Before> before;
  for (const TracedEvent* event : events) {
    EventState& one = touch(top(), *event);
    before.push_back({one.registered, bool(one.softly_on)});
    one.registered = true;
    one.softly_on = true;
  }
  auto done = try_sync(changed);
  if (done) return code_.take_left_out();
  for (std::size_t i = 0; i < events.size(); ++i) {
    EventState& one = touch(top(), *events[i]);
    one.registered = before[i].registered;
    one.softly_on = before[i].softly_on;
  }
  postponed_ = std::move(postponed);
  return std::unexpected(std::move(done.error()));
}

Result<void> Tracing::use_softly(Instance& instance, const TracedEvent& event, int change) {
  EventState& one = touch(instance, event);
  const bool was_registered = one.registered, was_on(one.softly_on);
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
    one.registered = was_registered;
    one.softly_on = was_on;
    one.soft_users = users;
  }
  return done;
}

// ---- filters --------------------------------------------------------------------------------

bool Tracing::bind_filter(Instance& instance, const TracedEvent& event, std::string_view text, diag::Sink& sink) {
  EventState& one = touch(instance, event);
  one.filter.reset();
  one.filter_text.reset();
  one.filter_mistake.clear();
  if (stripped(text) == "0") return true;
  auto bound = sema::compile_filter(text, event.layout, sink, options_.check);
  if (!bound) return false;
  one.filter = std::move(bound);
  one.filter_text = std::string(grammar::filter_command(text));
  return true;
}

Result<void> Tracing::write_filter(Instance& instance, const TracedEvent& event, std::string_view text) {
  if (text.size() >= kPageBytes) return std::unexpected(Error::of_errno(EINVAL));
  drain();
  diag::Sink sink;
  const bool bound = bind_filter(instance, event, text, sink);
  Result<void> answer;
  if (!bound) {
    auto mistakes = sink.take();
    touch(instance, event).filter_mistake = sema::filter_file_text(mistakes.front());
    answer = refuse(instance.errors, std::move(mistakes));
  }
  if (const EventState* one = state(instance, event.id); one && one->registered) {
    const TracedEvent* const changed[] = {&event};
    if (auto done = sync(changed); !done) return done;
  }
  return answer;
}

// Events that lack a field of it have no filter then.
Result<void> Tracing::write_group_filter(Instance& instance, std::string_view group, std::string_view text) {
  if (text.size() >= kPageBytes) return std::unexpected(Error::of_errno(EINVAL));
  drain();
  std::vector<const TracedEvent*> on;
  std::optional<diag::Diagnostic> mistake;
  for (const auto& [id, event] : events_.events()) {
    if (event->group != group) continue;
    diag::Sink sink;
    if (!bind_filter(instance, *event, text, sink)) {
      mistake = sink.take().front();
      mistake->kind = diag::Kind::FilterBadSubsysFilter;
      mistake->column = 0;
      touch(instance, *event).filter_mistake = sema::filter_file_text(*mistake);
    }
    if (state(instance, id)->registered) on.push_back(event.get());
  }
  if (mistake) instance.errors.add(*mistake, now_ns());
  return on.empty() ? Result<void>{} : sync(on);
}

// ---- triggers -------------------------------------------------------------------------------

const TracedEvent* Tracing::soft_target(const model::Trigger& trigger) const {
  const bool switches =
      trigger.kind == model::TriggerKind::EnableEvent || trigger.kind == model::TriggerKind::DisableEvent;
  return switches ? events_.find(trigger.target.system, trigger.target.event) : nullptr;
}

// First what is acted on, then the code that acts; and back in the other order.
Result<void> Tracing::add_trigger(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = events_.find(owner.system, owner.event);
  instance.triggers.apply(sema::AddTrigger{owner, trigger});
  if (trigger.count) instance.trigger_counts.try_emplace(trigger.id, *trigger.count);
  if (trigger.kind == model::TriggerKind::Snapshot && !instance.snapshot)
    instance.snapshot.emplace(options_.cpus, instance.buffer.cpu(0).pages());
  const TracedEvent* target = soft_target(trigger);
  auto done = target ? use_softly(instance, *target, +1) : Result<void>{};
  const bool is_target_used = target && done;
  if (done && event) done = sync_stacks(*event);
  if (done && event) done = use_softly(instance, *event, +1);
  if (done) return done;
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  if (event) (void)sync_stacks(*event);
  if (is_target_used) (void)use_softly(instance, *target, -1);
  instance.trigger_counts.erase(trigger.id);
  return done;
}

// Where the code that acts cannot be taken out, the trigger stays, and so does what it acts on.
Result<void> Tracing::remove_trigger(Instance& instance, const model::EventName& owner, const model::Trigger& trigger) {
  const TracedEvent* event = events_.find(owner.system, owner.event);
  instance.triggers.apply(sema::RemoveTrigger{owner, trigger.id});
  auto done = event ? use_softly(instance, *event, -1) : Result<void>{};
  if (!done) {
    instance.triggers.apply(sema::AddTrigger{owner, trigger});
    return done;
  }
  if (event) done = sync_stacks(*event);
  if (const TracedEvent* target = soft_target(trigger))
    if (auto given_back = use_softly(instance, *target, -1); done) done = given_back;
  instance.trigger_counts.erase(trigger.id);
  return done;
}

// A step may be about another event than the one whose file was written: `onmatch` needs a histogram there.
Result<void> Tracing::apply_trigger_step(Instance& instance, const sema::TriggerStep& step) {
  if (const auto* added = std::get_if<sema::AddTrigger>(&step))
    return add_trigger(instance, added->event, added->trigger);
  if (const auto* removed = std::get_if<sema::RemoveTrigger>(&step)) {
    const auto all = instance.triggers.of(removed->event);
    const auto it = std::ranges::find(all, removed->id, &model::Trigger::id);
    if (it == all.end()) return {};
    const model::Trigger trigger = *it;
    return remove_trigger(instance, removed->event, trigger);
  }
  instance.triggers.apply(step);
  return {};
}

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

Result<void> Tracing::can_run(const Instance& instance, const model::Trigger& trigger, const TracedEvent& event) {
  if (trigger.kind == model::TriggerKind::Snapshot && is_tapped(instance))
    return std::unexpected(Error(
        "`snapshot` keeps a buffer aside; records of `run` are written as they come (`kevtrace mount` has buffers)",
        EOPNOTSUPP));
  if (const char* why = why_not_run(trigger, event)) return std::unexpected(Error(why, EOPNOTSUPP));
  if (trigger.kind != model::TriggerKind::Stacktrace || event.is_static()) return {};
  return can_unwind();
}

Result<void> Tracing::write_trigger(Instance& instance, const TracedEvent& event, std::string_view text) {
  if (text.empty()) return {};
  if (text.size() >= kPageBytes) return std::unexpected(Error::of_errno(EINVAL));
  diag::Sink sink;
  const sema::TriggerWorld world{
      .catalog = events_.catalog(), .table = instance.triggers, .dialect = options_.check.dialect};
  auto change = sema::write_trigger(text, name_of(event), world, sink);
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
    if (auto done = apply_trigger_step(instance, step); !done) return done;
  for (auto it = change->remarks.rbegin(); it != change->remarks.rend(); ++it) instance.errors.add(*it, now_ns());
  return {};
}

Result<void> Tracing::truncate_triggers(Instance& instance, const TracedEvent& event) {
  for (const sema::TriggerStep& step : sema::truncate_triggers(name_of(event), instance.triggers))
    if (auto done = apply_trigger_step(instance, step); !done) return done;
  return {};
}

std::string Tracing::trigger_text(const Instance& instance, const TracedEvent& event) const {
  const auto all = instance.triggers.of(name_of(event));
  std::vector<model::Trigger> now(all.begin(), all.end());
  for (model::Trigger& trigger : now)
    if (const auto left = instance.trigger_counts.find(trigger.id); left != instance.trigger_counts.end())
      trigger.count = left->second.left();
  return sema::trigger_file_text(now);
}

}  // namespace kevt::engine
