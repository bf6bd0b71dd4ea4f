// Instance: one set of buffers and switches over the same events; the top one, or a folder of instances/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/model/filter.h"
#include "compiler/sema/trigger_table.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/histograms/histogram_set.h"
#include "runtime-user/engine/instances/error_log.h"
#include "runtime-user/engine/instances/shared_cell.h"
#include "runtime-user/engine/instances/trace_buffer.h"
#include "runtime-user/engine/instances/trace_options.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// The clock that stamps an instance's records. Local, Global and Mono are all CLOCK_MONOTONIC here.
enum class TraceClock : std::uint8_t { Local, Global, Counter, Mono, Boot };
struct TraceClockFacts {
  TraceClock clock;
  std::string_view name;
  bool in_ns;
};
std::span<const TraceClockFacts> trace_clock_facts();

// The state of one event in one instance.
struct EventState {
  bool registered = false;       // this instance needs the event armed
  SharedSwitch softly_on{true};  // off: the event is armed but records nothing
  std::uint32_t soft_users = 0;  // triggers that need it armed
  std::optional<std::string> filter_text;
  std::optional<model::FilterExpr> filter;  // filter_text, bound to the event's fields
  std::string filter_mistake;               // what the file `filter` reads after a mistake
  // Counts of this instance; together with the runtime's own counts they add up to the event's hits.
  std::uint64_t recorded = 0, aggregated = 0, filtered = 0, lost = 0;

  bool records() const { return registered && softly_on; }
};

struct Instance {
  Instance(std::string instance_name, std::uint32_t cpus, std::uint32_t pages);

  std::string name;  // empty: the top one
  TraceBuffer buffer;
  std::optional<TraceBuffer> snapshot;
  TraceOptions options;
  TraceClock clock = TraceClock::Local;
  SharedSwitch tracing_on{true};
  std::vector<bool> cpu_mask;
  std::optional<std::set<std::int32_t>> pids;            // set_event_pid: only these record
  std::optional<std::set<std::int32_t>> refused_pids;    // set_event_notrace_pid: these do not
  std::unordered_map<std::uint32_t, EventState> events;  // by id; absent: off
  sema::TriggerTable triggers;
  HistogramSet histograms;                              // counts of `hist` triggers
  std::map<std::uint64_t, SharedCount> trigger_counts;  // what is left of counts (`:3`), by trigger id
  ErrorLog errors;
  std::uint64_t counter = 0;         // of TraceClock::Counter
  std::uint64_t max_latency_ns = 0;  // as a user wrote it
  std::uint64_t arrivals = 0;        // grows with every record stored; readers wait for it
  std::uint32_t pauses = 0;          // readers of `trace` while pause-on-trace
  std::uint32_t users = 0;           // open files
  std::set<std::int64_t> consumers;  // CPUs whose trace_pipe is open; -1: all

  std::uint64_t stamp(std::uint64_t mono_ns);
  // The stamp that stamp() would give, without advancing the counter.
  std::uint64_t next_stamp(std::uint64_t mono_ns) const;
  bool stamps_ns() const { return clock != TraceClock::Counter; }
  // Clears the buffer, since one buffer cannot hold records of two clocks.
  void set_clock(TraceClock wanted);
  // The time, in ns of CLOCK_MONOTONIC, that has this stamp; nullopt for TraceClock::Counter.
  std::optional<std::uint64_t> mono_ns(std::uint64_t stamp) const;
  // With the option event-fork, adds the child of a listed thread to the same lists.
  void note_fork(std::int32_t parent, std::int32_t child);
  bool lets_through(std::uint32_t cpu, std::int32_t pid) const;
  bool lets_thread_through(std::int32_t pid) const;
  CpuBuffer::WhenFull when_full() const;
  void clear() { buffer.clear(); }
  // By the event's id; an event that was never touched is off.
  EventState& state_of(std::uint32_t event) { return events[event]; }
  const EventState* find_state(std::uint32_t event) const;
  bool has_triggers(const TracedEvent& event) const;
  bool has_trigger(const TracedEvent& event, model::TriggerKind kind) const;
  // Whether records come with stacks: by an option those of all probes, by a trigger those of its event.
  bool has_stack_option() const;
  bool wants_stack_of(const TracedEvent& event) const;
  // Whether stack records may follow records of events.
  bool records_stacks() const;
  // Stamps the record and appends it to `into`, which is `buffer` or the snapshot. False: `into` is full, or has no
  // such CPU.
  bool store(TraceBuffer& into, const runtime::Record& record);
  // Makes the snapshot's buffers unless they exist.
  void reserve_snapshot();
  // Exchanges the snapshot with `buffer`.
  void take_snapshot();
};

}  // namespace kevt::engine
