// From a runtime's record to the buffers of instances.
//
// Records come in the order of time: of one target from its runtime; of several, they wait here until no target can
// still come with an older one. Each instance that has the event on runs its triggers, its gates and its late triggers,
// in the order that trigger_moment.h tells. All of it happens in the order of the hits, whenever it happens:
// `traceoff if x == 5` keeps exactly what was hit up to that one, and a count of 5 acts five times. What a hit costs
// its thread has been paid by then.
//
// A record whose hit carried out triggers and gates itself (hit_switches.cpp) says so, and its instance asks neither.
//
// Every record counts once in each instance that knows the event: recorded, filtered or lost.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "common/proc.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/record_filter.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/trigger_moment.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kFlagsAt = 2;  // common_flags

std::vector<std::uint8_t> record_of(std::uint32_t type, std::int32_t pid, std::span<const std::uint8_t> payload) {
  std::vector<std::uint8_t> record(model::kCommonBytes);
  record[0] = static_cast<std::uint8_t>(type);
  record[1] = static_cast<std::uint8_t>(type >> 8);
  std::memcpy(record.data() + 4, &pid, sizeof pid);
  record.insert(record.end(), payload.begin(), payload.end());
  return record;
}

}  // namespace

std::size_t Tracing::drain() {
  const auto& targets = code_.targets();
  if (targets.empty() && !options_.follows) return 0;
  if (options_.is_tapped && !tap_) return 0;
  ++rounds_;
  const bool plain = is_plain_tap();
  const auto take = [&](TracedTarget& target, const runtime::Record& record) {
    plain ? tap_plainly(target, record) : deliver(target, record);
  };
  if (!has_several_targets()) {
    TracedTarget& only = *targets.front();
    const auto sink = [&](const runtime::Record& record) { take(only, record); };
    return order_ == DrainOrder::ByCpu ? only.runtime().drain_by_cpu(sink) : only.runtime().drain(sink);
  }
  const std::uint64_t until = is_finished_ ? ~0ull : now_ns();
  for (TracedTarget* target : targets)
    target->runtime().drain([&](const runtime::Record& record) {
      waiting_.add(record.timestamp_ns,
                   {target, record.cpu, std::string(record.comm), {record.bytes.begin(), record.bytes.end()}});
    });
  return waiting_.take(until, [&](std::uint64_t time_ns, const Waiting& one) {
    take(*one.target, {.timestamp_ns = time_ns, .cpu = one.cpu, .comm = one.comm, .bytes = one.bytes});
  });
}

// ---- straight to a tap ----------------------------------------------------------------------

bool Tracing::is_plain_tap() const {
  if (!tap_ || instances_.size() != 1 || !hidden_.empty()) return false;
  const Instance& only = *instances_.front();
  return only.tracing_on && only.pauses == 0 && !only.pids && !only.refused_pids && only.triggers.events().empty() &&
         std::ranges::all_of(only.cpu_mask, std::identity{});
}

bool Tracing::is_plain(const TracedEvent& event, const EventState& one) const {
  return one.records() && !event.is_static() && (!one.filter || code_.always_asks(event.id, *one.filter_text));
}

void Tracing::tap_plainly(TracedTarget& target, const runtime::Record& record) {
  const std::uint32_t type = model::type_of(record.bytes);
  if (type >= routes_.size()) routes_.resize(std::size_t{type} + 1);
  Route& route = routes_[type];
  if (route.of_round != rounds_) {
    const TracedEvent* event = code_.sampled(type) ? nullptr : events_.find(type);
    EventState* state = event ? &touch(top(), *event) : nullptr;
    route = {.of_round = rounds_, .event = event, .state = state && is_plain(*event, *state) ? state : nullptr};
  }
  if (!route.state) return deliver(target, record);
  ++route.state->recorded;
  tap_->take(*route.event, target, record);
}

void Tracing::note_task(TracedTarget& target, const runtime::Record& record, std::int32_t tid) {
  if (has_several_targets()) {
    auto& was = was_[tid];
    if (was.empty() || was.back().target != &target) was.push_back({record.timestamp_ns, &target});
  }
  if (top().options.has(TraceOption::RecordCmd)) tasks_.note_comm(tid, record.comm);
  if (!top().options.has(TraceOption::RecordTgid)) return;
  const SavedTask* known = tasks_.find(tid);
  if (!known || known->tgid == 0) tasks_.note_tgid(tid, proc::process_of(tid));
}

void Tracing::deliver(TracedTarget& target, const runtime::Record& record) {
  const std::uint32_t type = model::type_of(record.bytes);
  const TracedEvent* event = events_.find(type);
  const bool is_ours = code_.sampled(type) || (event && !event->is_static());
  if (!is_ours || !(record.bytes[kFlagsAt] & model::kGatesWereAsked)) return deliver(target, record, nullptr);
  std::vector<std::uint8_t> bytes(record.bytes.begin(), record.bytes.end());
  bytes[kFlagsAt] &= static_cast<std::uint8_t>(~model::kGatesWereAsked);
  runtime::Record plain = record;
  plain.bytes = bytes;
  deliver(target, plain, asked_by_hits_);
}

void Tracing::deliver(TracedTarget& target, const runtime::Record& record, const Instance* decided) {
  if (const SampledType* sampled = code_.sampled(model::type_of(record.bytes)))
    return deliver_sampled(target, *sampled, record, decided);
  const TracedEvent* event = events_.find(model::type_of(record.bytes));
  if (!event) return;
  note_task(target, record, model::pid_of(record.bytes));
  const Origin origin = {
      .target = &target, .stack = event->is_static() ? Stack::Comes : Stack::None, .decided = decided};
  for (const auto& instance : instances_)
    if (TraceBuffer* buffer = deliver_to(*instance, *event, record, origin))
      store_stack(*instance, *buffer, target, record);
}

void Tracing::hide_own_threads() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
    hidden_.push_back(std::atoi(entry.path().filename().c_str()));
}

bool Tracing::is_hidden(std::span<const std::uint8_t> record) const {
  return !hidden_.empty() && std::ranges::find(hidden_, model::pid_of(record)) != hidden_.end();
}

// What gates_for() (hit_switches.cpp) asks at the hit.
bool Tracing::is_open(const Instance& instance, const EventState& one, const Before& before) const {
  if (!one.records()) return false;
  const bool was_reserved = before.needs_record && before.softly_on && !one.filter;
  if (was_reserved) return before.tracing_on;
  return instance.tracing_on && (before.needs_record || !before.has_triggers || before.softly_on);
}

TraceBuffer* Tracing::deliver_to(Instance& instance, const TracedEvent& event, const runtime::Record& record,
                                 Origin origin) {
  EventState& one = instance.events[event.id];
  const bool is_decided = origin.decided == &instance;
  const bool has_triggers = !is_decided && one.registered && one.soft_users > 0 && !is_hidden(record.bytes);
  const Before before = {
      .tracing_on = bool(instance.tracing_on),
      .softly_on = bool(one.softly_on),
      .has_triggers = has_triggers,
      .needs_record = has_triggers && need_record(instance.triggers.of({event.group, event.name})),
  };
  const Fired fired = has_triggers ? run_triggers(instance, event, record, origin.stack) : Fired{};
  const RecordContext context{.record = record.bytes, .cpu = record.cpu, .comm = record.comm};
  const bool wanted = (is_decided ? one.registered : is_open(instance, one, before)) && !is_hidden(record.bytes) &&
                      instance.pauses == 0 && instance.lets_through(record.cpu, model::pid_of(record.bytes)) &&
                      (!one.filter || holds(*one.filter, event.layout, context));
  TraceBuffer& buffer = before.needs_record && fired.took_snapshot ? *instance.snapshot : instance.buffer;
  TraceBuffer* of_stack = nullptr;
  if (!wanted) {
    ++one.filtered;
  } else if (is_tapped(instance)) {
    tap_->take(event, *origin.target, record);
    ++one.recorded;
    if (origin.stack == Stack::Comes && has_stack_option(instance)) of_stack = &buffer;
  } else if (store(instance, buffer, record)) {
    ++one.recorded;
    if (origin.stack == Stack::Comes && has_stack_option(instance)) of_stack = &buffer;
  } else {
    ++one.lost;
  }
  const bool triggered = run_late_triggers(instance, event, fired);
  if (is_tapped(instance) && !wanted) return nullptr;  // a tap takes stacks of records that it took
  return triggered && !of_stack ? &instance.buffer : of_stack;
}

// What kernel_stack's format says: how many, and the addresses.
void Tracing::store_stack(Instance& instance, TraceBuffer& buffer, TracedTarget& target,
                          const runtime::Record& record) {
  if (is_tapped(instance)) return tap_->take_stack(target, record, record.stack);
  std::vector<std::uint8_t> payload(8 + 8 * record.stack.size());
  const auto count = static_cast<std::uint32_t>(record.stack.size());
  std::memcpy(payload.data(), &count, sizeof count);
  if (count) std::memcpy(payload.data() + 8, record.stack.data(), 8 * record.stack.size());
  auto bytes = record_of(kStackId, model::pid_of(record.bytes), payload);
  std::ranges::copy(record.bytes.subspan(2, 2), bytes.begin() + 2);  // flags, preempt count
  store(instance, buffer, {.timestamp_ns = record.timestamp_ns, .cpu = record.cpu, .comm = {}, .bytes = bytes});
}

bool Tracing::store(Instance& instance, TraceBuffer& buffer, const runtime::Record& record) {
  if (record.cpu >= buffer.cpus()) return false;
  if (!buffer.cpu(record.cpu).append(instance.stamp(record.timestamp_ns), record.bytes, instance.when_full()))
    return false;
  ++instance.arrivals;
  return true;
}

// ---- triggers -------------------------------------------------------------------------------

bool Tracing::may_act(const Instance& instance, const model::Trigger& trigger) const {
  const auto left = instance.trigger_counts.find(trigger.id);
  return left == instance.trigger_counts.end() || left->second.left() > 0;
}

// Only where it changes anything its count goes down.
void Tracing::act(Instance& instance, const model::Trigger& trigger) {
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
      take_snapshot(instance);
      break;
    case model::TriggerKind::EnableEvent:
    case model::TriggerKind::DisableEvent: {
      const TracedEvent* target = soft_target(trigger);
      const bool wanted = trigger.kind == model::TriggerKind::EnableEvent;
      changed = target && touch(instance, *target).softly_on.exchange(wanted) != wanted;
      break;
    }
    case model::TriggerKind::Stacktrace:
      break;  // the caller stores it
    case model::TriggerKind::EnableHist:
    case model::TriggerKind::DisableHist:
    case model::TriggerKind::Hist:
      changed = false;  // refused when they were to be set
  }
  const auto left = instance.trigger_counts.find(trigger.id);
  if (changed && left != instance.trigger_counts.end()) left->second.take_one();
}

Tracing::Fired Tracing::run_triggers(Instance& instance, const TracedEvent& event, const runtime::Record& record,
                                     Stack stack) {
  const RecordContext context{.record = record.bytes, .cpu = record.cpu, .comm = record.comm};
  Fired fired;
  for (const model::Trigger& trigger : instance.triggers.of({event.group, event.name})) {
    if (trigger.condition && !holds(*trigger.condition, event.layout, context)) continue;
    if (trigger.kind == model::TriggerKind::Stacktrace) {
      fired.wants_stack = stack == Stack::Comes;  // else the record was made before it was set
    } else if (trigger.kind == model::TriggerKind::TraceOff) {
      fired.turns_off = true;
    } else {
      fired.took_snapshot |= trigger.kind == model::TriggerKind::Snapshot && may_act(instance, trigger);
      act(instance, trigger);
    }
  }
  return fired;
}

bool Tracing::run_late_triggers(Instance& instance, const TracedEvent& event, Fired fired) {
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

void Tracing::take_snapshot(Instance& instance) {
  if (!instance.snapshot) instance.snapshot.emplace(options_.cpus, instance.buffer.cpu(0).pages());
  std::swap(instance.buffer, *instance.snapshot);
}

// ---- markers --------------------------------------------------------------------------------

void Tracing::mark(Instance& instance, std::int32_t tid, std::string_view comm, std::string_view text) {
  if (!instance.tracing_on) return;
  std::vector<std::uint8_t> payload(8);  // ip: ours has none
  payload.insert(payload.end(), text.begin(), text.end());
  payload.push_back(0);
  if (instance.options.has(TraceOption::RecordCmd)) tasks_.note_comm(tid, comm);
  const std::vector<std::uint8_t> written = record_of(kPrintId, tid, payload);
  if (!text.ends_with('\n')) payload.insert(payload.end() - 1, '\n');
  const std::vector<std::uint8_t> bytes = record_of(kPrintId, tid, payload);
  const std::uint64_t now = now_ns();
  store(instance, instance.buffer, {.timestamp_ns = now, .cpu = 0, .comm = comm, .bytes = bytes});
  // They see the text as it was written.
  const Fired fired =
      run_triggers(instance, marker_, {.timestamp_ns = now, .cpu = 0, .comm = comm, .bytes = written}, Stack::None);
  run_late_triggers(instance, marker_, fired);
}

void Tracing::mark_raw(Instance& instance, std::int32_t tid, std::string_view comm,
                       std::span<const std::uint8_t> data) {
  if (!instance.tracing_on) return;
  if (instance.options.has(TraceOption::RecordCmd)) tasks_.note_comm(tid, comm);
  const std::vector<std::uint8_t> bytes = record_of(kRawDataId, tid, data);
  store(instance, instance.buffer, {.timestamp_ns = now_ns(), .cpu = 0, .comm = comm, .bytes = bytes});
}

// ---- who counts what ------------------------------------------------------------------------

runtime::EventCounts Tracing::counts(const Instance& instance, const TracedEvent& event) const {
  runtime::EventCounts sum = code_.counts(event.id);
  const EventState* one = state(instance, event.id);
  if (!is_tapped(instance))
    sum.recorded = one ? one->recorded : 0;
  else if (one)  // what is still in a ring is recorded, too
    sum.recorded -= std::min(sum.recorded, one->filtered + one->lost);
  sum.filtered += one ? one->filtered : 0;
  sum.lost += one ? one->lost : 0;
  return sum;
}

bool Tracing::sees_misses() const {
  return std::ranges::all_of(code_.targets(),
                             [](TracedTarget* target) { return target->runtime().capabilities().sees_misses; });
}

const target::TargetEnv* Tracing::env_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const {
  if (options_.env) return options_.env;
  const TracedTarget* target = target_of(tid, time_ns);
  return target ? &target->known_env() : nullptr;
}

const TracedTarget* Tracing::target_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const {
  if (!has_several_targets()) return code_.targets().empty() ? nullptr : code_.targets().front();
  const auto it = was_.find(tid);
  if (it == was_.end()) return nullptr;
  const auto& was = it->second;
  if (!time_ns) return was.back().target;
  const auto next = std::ranges::upper_bound(was, *time_ns, {}, &Was::since_ns);
  return next == was.begin() ? nullptr : std::prev(next)->target;
}

}  // namespace kevt::engine
