// Gates of an instance, in the order in which a record meets them: the event's triggers, its soft switch, pids, CPUs,
// filter, tracing_on. Whatever stops it, it counts as filtered there.
#include "runtime-user/engine/instance.h"

#include <time.h>

namespace kevt::engine {

namespace {

constexpr TraceClockFacts kClocks[] = {
    {TraceClock::Local, "local", true}, {TraceClock::Global, "global", true}, {TraceClock::Counter, "counter", false},
    {TraceClock::Mono, "mono", true},   {TraceClock::Boot, "boot", true},
};

std::uint64_t now_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// What CLOCK_BOOTTIME is ahead by.
std::uint64_t suspended_ns() { return now_of(CLOCK_BOOTTIME) - now_of(CLOCK_MONOTONIC); }

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
  if (cpu < cpu_mask.size() && !cpu_mask[cpu]) return false;
  if (pids && !pids->contains(pid)) return false;
  return !refused_pids || !refused_pids->contains(pid);
}

CpuBuffer::WhenFull Instance::when_full() const {
  return options.has(TraceOption::Overwrite) ? CpuBuffer::WhenFull::Overwrite : CpuBuffer::WhenFull::Stop;
}

void Instance::clear() { buffer.clear(); }

}  // namespace kevt::engine
