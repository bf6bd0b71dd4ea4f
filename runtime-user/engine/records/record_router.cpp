// From a runtime's record to the buffers of instances.
//
// Records are delivered in the order of time. The runtime of one target sorts its own; records of several targets wait
// here until no target can come with an older one. Each instance that has the event on runs its triggers, its gates and
// its late triggers, in the order of trigger_moment.h. The reader runs them later than the hits, but in the order of
// the hits: `traceoff if x == 5` keeps exactly the records up to that hit, and a count of 5 acts five times. They cost
// the thread that hit nothing.
//
// A record whose hit carried out triggers and gates itself (trigger_inliner.cpp) has a flag that says so; the reader
// then skips both for that instance.
//
// Every record counts once in each instance that knows the event: recorded, aggregated, filtered or lost.
#include "runtime-user/engine/records/record_router.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "common/assert.h"
#include "common/clock.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/histograms/synthetic_record.h"
#include "runtime-user/engine/records/record_filter.h"
#include "runtime-user/engine/records/record_ids.h"
#include "runtime-user/engine/records/trigger_moment.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kFlagsAt = 2;  // common_flags
constexpr unsigned kMaxNested = 4;

// A program's threads have the numbers of its own namespace, which may be those of kevtrace's threads in another.
bool is_of_kernel(const TracedTarget* target) { return !target || target->pid() == 0; }

}  // namespace

std::size_t RecordRouter::drain() {
  const auto& targets = state_.code.installed().targets();
  if (targets.empty() && !state_.options.follows) return 0;
  if (state_.options.is_tapped && !tap_) return 0;
  ++rounds_;
  const bool plain = is_plain_tap();
  const auto take = [&](TracedTarget& target, const runtime::Record& record) {
    plain ? tap_plainly(target, record) : deliver(target, record);
  };
  if (!state_.has_several_targets()) {
    TracedTarget& only = *targets.front();
    const auto sink = [&](const runtime::Record& record) { take(only, record); };
    return order_ == DrainOrder::ByCpu ? only.runtime().drain_by_cpu(sink) : only.runtime().drain(sink);
  }
  const std::uint64_t until = is_finished_ ? ~0ull : now_ns();
  for (TracedTarget* target : targets)
    target->runtime().drain([&](const runtime::Record& record) {
      pending_.add(record.timestamp_ns, {target,
                                         record.cpu,
                                         std::string(record.comm),
                                         {record.bytes.begin(), record.bytes.end()},
                                         {record.stack.begin(), record.stack.end()}});
    });
  return pending_.take(until, [&](std::uint64_t time_ns, const PendingRecord& one) {
    take(*one.target,
         {.timestamp_ns = time_ns, .cpu = one.cpu, .comm = one.comm, .bytes = one.bytes, .stack = one.stack});
  });
}

void RecordRouter::count_gone() {
  for (const auto& [id, event] : state_.events.events()) {
    if (event->is_made_by_reader()) continue;
    const std::uint64_t recorded = state_.code.installed().counts(id).recorded;
    for (const auto& instance : state_.instances) {
      EventState& one = instance->state_of(id);
      const std::uint64_t known = one.recorded + one.aggregated + one.filtered + one.lost;
      if (recorded > known) one.lost += recorded - known;
    }
  }
}

// ---- straight to a tap ----------------------------------------------------------------------

bool RecordRouter::is_plain_tap() const {
  if (!tap_ || state_.instances.size() != 1 || !state_.hidden_threads.empty()) return false;
  const Instance& only = state_.instances.top();
  return only.tracing_on && only.pauses == 0 && !only.has_stack_option() && !only.pids && !only.refused_pids &&
         only.triggers.events().empty() && std::ranges::all_of(only.cpu_mask, std::identity{});
}

bool RecordRouter::is_plain(const TracedEvent& event, const EventState& one) const {
  return one.records() && !event.is_static() &&
         (!one.filter || state_.code.installed().always_asks(event.id, *one.filter_text));
}

void RecordRouter::tap_plainly(TracedTarget& target, const runtime::Record& record) {
  const std::uint32_t type = model::type_of(record.bytes);
  if (type >= routes_.size()) routes_.resize(std::size_t{type} + 1);
  Route& route = routes_[type];
  if (route.of_round != rounds_) {
    const TracedEvent* event = state_.events.find(type);
    EventState* state = event ? &state_.instances.top().state_of(event->id) : nullptr;
    route = {.of_round = rounds_, .event = event, .state = state && is_plain(*event, *state) ? state : nullptr};
  }
  if (!route.state) return deliver(target, record);
  ++delivered_;
  const bool taken = tap_->take(state_.instances.top(), *route.event, target, record);
  ++(taken ? route.state->recorded : route.state->filtered);
}

// ---- to each instance -----------------------------------------------------------------------

void RecordRouter::deliver(TracedTarget& target, const runtime::Record& record) {
  const std::uint32_t type = model::type_of(record.bytes);
  const TracedEvent* event = state_.events.find(type);
  const bool is_ours = event && !event->is_static();
  if (!is_ours || !(record.bytes[kFlagsAt] & model::kGatesWereAsked)) return deliver(target, record, nullptr);
  std::vector<std::uint8_t> bytes(record.bytes.begin(), record.bytes.end());
  bytes[kFlagsAt] &= static_cast<std::uint8_t>(~model::kGatesWereAsked);
  runtime::Record plain = record;
  plain.bytes = bytes;
  deliver(target, plain, inliner_.last());
}

void RecordRouter::deliver(TracedTarget& target, const runtime::Record& record, const Instance* decided) {
  const TracedEvent* event = state_.events.find(model::type_of(record.bytes));
  if (!event) return;
  if (!is_of_kernel(&target) || !state_.is_hidden(model::pid_of(record.bytes))) ++delivered_;
  tasks_.note(target, record, model::pid_of(record.bytes));
  stacks_.look_for_new_files(target, record.stack);
  const bool has_stack = event->is_static() || !record.stack.empty();
  const Origin origin = {.target = &target, .stack = has_stack ? Stack::Comes : Stack::None, .decided = decided};
  for (const auto& instance : state_.instances)
    if (TraceBuffer* buffer = deliver_to(*instance, *event, record, origin))
      store_stack(*instance, *buffer, target, *event, record);
}

// The same gates as TriggerInliner::gates_of() has at the hit.
bool RecordRouter::is_open(const Instance& instance, const EventState& one, const Before& before) {
  if (!one.records()) return false;
  const bool was_reserved = before.needs_record && before.softly_on && !one.filter;
  if (was_reserved) return before.tracing_on;
  return instance.tracing_on && (before.needs_record || !before.has_triggers || before.softly_on);
}

TraceBuffer* RecordRouter::deliver_to(Instance& instance, const TracedEvent& event, const runtime::Record& record,
                                      Origin origin) {
  EventState& one = instance.state_of(event.id);
  const bool is_decided = origin.decided == &instance;
  const bool is_hidden = is_of_kernel(origin.target) && state_.is_hidden(model::pid_of(record.bytes));
  const bool has_triggers = !is_decided && one.registered && one.soft_users > 0 && !is_hidden;
  const Before before = {
      .tracing_on = bool(instance.tracing_on),
      .softly_on = bool(one.softly_on),
      .has_triggers = has_triggers,
      .needs_record = has_triggers && need_record(instance.triggers.of({event.group, event.name})),
  };
  const TriggerRunner::Fired fired =
      has_triggers ? triggers_.run(instance, event, record, origin.stack) : TriggerRunner::Fired{};
  const RecordContext context{.record = record.bytes, .cpu = record.cpu, .comm = record.comm};
  const bool wanted = (is_decided ? one.registered : is_open(instance, one, before)) && !is_hidden &&
                      instance.pauses == 0 && instance.lets_through(record.cpu, model::pid_of(record.bytes)) &&
                      (!one.filter || holds(*one.filter, event.layout, context));
  TraceBuffer& buffer = before.needs_record && fired.took_snapshot ? *instance.snapshot : instance.buffer;
  TraceBuffer* of_stack = nullptr;
  if (!wanted) {
    ++(fired.is_counted ? one.aggregated : fired.is_dropped ? one.lost : one.filtered);
  } else if (state_.options.is_tapped) {
    KEVT_ASSERT(origin.target);  // a marker has no target, but with a tap there are no markers
    const bool taken = tap_->take(instance, event, *origin.target, record);
    ++(taken ? one.recorded : fired.is_counted ? one.aggregated : one.filtered);
    if (taken && origin.stack == Stack::Comes && instance.has_stack_option()) of_stack = &buffer;
  } else if (instance.store(buffer, record)) {
    ++one.recorded;
    if (origin.stack == Stack::Comes && instance.has_stack_option()) of_stack = &buffer;
  } else {
    ++one.lost;
  }
  deliver_synthetic(fired.synthetic, record, origin.target);
  const bool triggered = triggers_.run_late(instance, event, fired);
  if (state_.options.is_tapped && !wanted) return nullptr;  // a tap takes the stack only of a record that it took
  return triggered && !of_stack ? &instance.buffer : of_stack;
}

// A histogram of a synthetic event may make synthetic events in turn. Beyond kMaxNested levels they are counted as
// lost.
void RecordRouter::deliver_synthetic(std::span<const SyntheticHit> made, const runtime::Record& of,
                                     TracedTarget* target) {
  for (const SyntheticHit& hit : made) {
    const TracedEvent* event = state_.events.find("synthetic", hit.event);
    if (!event) continue;
    const auto bytes = synthetic_record(*event, hit.values, of.bytes);
    runtime::Record record = of;
    record.bytes = bytes;
    record.stack = {};
    for (const auto& instance : state_.instances) {
      const EventState* state = instance->find_state(event->id);
      if (!state || !state->registered) continue;
      if (nested_ == kMaxNested) {
        ++instance->state_of(event->id).lost;
        continue;
      }
      ++nested_;
      deliver_to(*instance, *event, record, {.target = target, .stack = Stack::None, .decided = nullptr});
      --nested_;
    }
    deliver_eprobes(*event, record, target);
  }
}

void RecordRouter::deliver_eprobes(const TracedEvent& of, const runtime::Record& made, TracedTarget* target) {
  for (const ReaderProbes::Made& one : state_.reader_probes.run(of, made)) {
    runtime::Record record = made;
    record.bytes = one.bytes;
    for (const auto& instance : state_.instances) {
      EventState& state = instance->state_of(one.event->id);
      if (!state.registered) continue;
      if (one.outcome != ir::Outcome::Recorded || nested_ == kMaxNested) {
        ++(one.outcome == ir::Outcome::Filtered ? state.filtered : state.lost);
        continue;
      }
      ++nested_;
      deliver_to(*instance, *one.event, record, {.target = target, .stack = Stack::None, .decided = nullptr});
      --nested_;
    }
  }
}

// A hit in a program has the program's user stack. Any other has a kernel_stack record: the number of
// addresses, then the addresses.
void RecordRouter::store_stack(Instance& instance, TraceBuffer& buffer, TracedTarget& target, const TracedEvent& event,
                               const runtime::Record& record) {
  if (state_.options.is_tapped) return tap_->take_stack(instance, target, record, record.stack);
  if (event.is_of_program() || target.pid()) {
    runtime::Record stack = record;
    const auto bytes = stacks_.record(target, {record.stack.begin(), record.stack.end()}, record.bytes);
    stack.bytes = bytes;
    instance.store(buffer, stack);
    return;
  }
  std::vector<std::uint8_t> payload(8 + 8 * record.stack.size());
  const auto count = static_cast<std::uint32_t>(record.stack.size());
  std::memcpy(payload.data(), &count, sizeof count);
  if (count) std::memcpy(payload.data() + 8, record.stack.data(), 8 * record.stack.size());
  auto bytes = record_of(kStackId, model::pid_of(record.bytes), payload);
  std::ranges::copy(record.bytes.subspan(2, 2), bytes.begin() + 2);  // flags, preempt count
  instance.store(buffer, {.timestamp_ns = record.timestamp_ns, .cpu = record.cpu, .comm = {}, .bytes = bytes});
}

// ---- who counts what ------------------------------------------------------------------------

runtime::EventCounts RecordRouter::counts(const Instance& instance, const TracedEvent& event) const {
  runtime::EventCounts sum = state_.code.installed().counts(event.id);
  const EventState* one = instance.find_state(event.id);
  // A thread that was killed between its record and its count has left a record that is there, and no hit that is lost.
  const std::uint64_t delivered = one ? one->recorded + one->aggregated + one->filtered + one->lost : 0;
  if (delivered > sum.recorded) {
    sum.lost -= std::min(sum.lost, delivered - sum.recorded);
    sum.recorded = delivered;
  }
  if (event.is_made_by_reader() && one)  // no code counts them
    sum.attempts = one->recorded + one->aggregated + one->filtered + one->lost;
  if (!state_.options.is_tapped || event.is_made_by_reader())
    sum.recorded = one ? one->recorded : 0;
  else if (one)  // records that are still in a ring count as recorded
    sum.recorded -= std::min(sum.recorded, one->filtered + one->aggregated + one->lost);
  sum.aggregated += one ? one->aggregated : 0;
  sum.filtered += one ? one->filtered : 0;
  sum.lost += one ? one->lost : 0;
  return sum;
}

}  // namespace kevt::engine
