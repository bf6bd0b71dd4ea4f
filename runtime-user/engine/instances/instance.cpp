// The gates of an instance for pids and CPUs. RecordRouter::deliver_to() asks all gates in their order: the event's
// triggers, its soft switch and tracing_on, pids, CPUs, the filter. A record that a gate stops counts as filtered, or
// as aggregated where a histogram has counted it.
#include "runtime-user/engine/instances/instance.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace kevt::engine {

namespace {

constexpr TraceClockFacts kClocks[] = {
    {TraceClock::Local, "local", true}, {TraceClock::Global, "global", true}, {TraceClock::Counter, "counter", false},
    {TraceClock::Mono, "mono", true},   {TraceClock::Boot, "boot", true},
};

// By how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, in ns.
std::uint64_t suspended_ns() { return clock_ns(CLOCK_BOOTTIME) - now_ns(); }

}  // namespace

std::span<const TraceClockFacts> trace_clock_facts() { return kClocks; }

Instance::Instance(std::string instance_name, std::uint32_t cpus, std::uint32_t pages)
    : name(std::move(instance_name)), buffer(cpus, pages), cpu_mask(cpus, true) {}

std::uint64_t Instance::stamp(std::uint64_t mono_ns) {
  switch (clock) {
    case TraceClock::Local:
    case TraceClock::Global:
    case TraceClock::Mono:
      return mono_ns;
    case TraceClock::Counter:
      return ++counter;
    case TraceClock::Boot:
      return mono_ns + suspended_ns();
  }
  return mono_ns;
}

std::uint64_t Instance::next_stamp(std::uint64_t mono_ns) const {
  if (clock == TraceClock::Counter) return counter + 1;
  return clock == TraceClock::Boot ? mono_ns + suspended_ns() : mono_ns;
}

void Instance::set_clock(TraceClock wanted) {
  clock = wanted;
  counter = 0;
  clear();
}

std::optional<std::uint64_t> Instance::mono_ns(std::uint64_t stamp) const {
  switch (clock) {
    case TraceClock::Local:
    case TraceClock::Global:
    case TraceClock::Mono:
      return stamp;
    case TraceClock::Counter:
      return std::nullopt;
    case TraceClock::Boot:
      return stamp - suspended_ns();
  }
  return std::nullopt;
}

void Instance::note_fork(std::int32_t parent, std::int32_t child) {
  if (!options.has(TraceOption::EventFork)) return;
  for (auto* list : {&pids, &refused_pids})
    if (*list && (*list)->contains(parent)) (*list)->insert(child);
}

bool Instance::lets_through(std::uint32_t cpu, std::int32_t pid) const {
  return (cpu >= cpu_mask.size() || cpu_mask[cpu]) && lets_thread_through(pid);
}

bool Instance::lets_thread_through(std::int32_t pid) const {
  if (pids && !pids->contains(pid)) return false;
  return !refused_pids || !refused_pids->contains(pid);
}

CpuBuffer::WhenFull Instance::when_full() const {
  return options.has(TraceOption::Overwrite) ? CpuBuffer::WhenFull::Overwrite : CpuBuffer::WhenFull::Stop;
}

const EventState* Instance::find_state(std::uint32_t event) const {
  const auto it = events.find(event);
  return it == events.end() ? nullptr : &it->second;
}

bool Instance::has_triggers(const TracedEvent& event) const { return !triggers.of(event.full_name()).empty(); }

bool Instance::has_trigger(const TracedEvent& event, model::TriggerKind kind) const {
  const auto all = triggers.of(event.full_name());
  return std::ranges::find(all, kind, &model::Trigger::kind) != all.end();
}

bool Instance::has_stack_option() const {
  return options.has(TraceOption::UserStacktrace) || options.has(TraceOption::Stacktrace);
}

bool Instance::wants_stack_of(const TracedEvent& event) const {
  const auto counts_stacks = [](const model::Trigger& trigger) {
    return trigger.kind == model::TriggerKind::Hist && uses_stack(trigger.histogram);
  };
  return has_stack_option() || has_trigger(event, model::TriggerKind::Stacktrace) ||
         std::ranges::any_of(triggers.of(event.full_name()), counts_stacks);
}

bool Instance::records_stacks() const {
  const auto wants = [](const auto& of_event) {
    return std::ranges::find(of_event.second, model::TriggerKind::Stacktrace, &model::Trigger::kind) !=
           of_event.second.end();
  };
  return has_stack_option() || std::ranges::any_of(triggers.events(), wants);
}

bool Instance::store(TraceBuffer& into, const runtime::Record& record) {
  if (record.cpu >= into.cpus()) return false;
  if (!into.cpu(record.cpu).append(stamp(record.timestamp_ns), record.bytes, when_full())) return false;
  ++arrivals;
  return true;
}

void Instance::reserve_snapshot() {
  if (!snapshot) snapshot.emplace(buffer.cpus(), buffer.cpu(0).pages());
}

void Instance::take_snapshot() {
  reserve_snapshot();
  std::swap(buffer, *snapshot);
}

}  // namespace kevt::engine
