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

// What every record is stamped with. Local, global and mono are CLOCK_MONOTONIC here.
enum class TraceClock : std::uint8_t { Local, Global, Counter, Mono, Boot };
struct TraceClockFacts {
  TraceClock clock;
  std::string_view name;
  bool in_ns;
};
std::span<const TraceClockFacts> trace_clock_facts();

// An event in an instance.
struct EventState {
  bool registered = false;       // it is armed for this instance
  SharedSwitch softly_on{true};  // off: it is armed and all the same records nothing
  std::uint32_t soft_users = 0;  // triggers that need it armed
  std::optional<std::string> filter_text;
  std::optional<model::FilterExpr> filter;  // absent with a text: it was not to be bound
  std::string filter_mistake;               // what the file reads after a mistake
  // Of this instance; with the runtime's own counts they add up to its hits.
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
  std::optional<std::set<std::int32_t>> pids;            // only these
  std::optional<std::set<std::int32_t>> refused_pids;    // not these
  std::unordered_map<std::uint32_t, EventState> events;  // by id; absent: off
  sema::TriggerTable triggers;
  HistogramSet histograms;                              // counts of `hist` triggers
  std::map<std::uint64_t, SharedCount> trigger_counts;  // of triggers with a count, by id: what is left of it
  ErrorLog errors;
  std::uint64_t counter = 0;         // of TraceClock::Counter
  std::uint64_t max_latency_ns = 0;  // as it was written
  std::uint64_t arrivals = 0;        // grows with every record stored: what readers wait for
  std::uint32_t pauses = 0;          // readers of `trace` while pause-on-trace
  std::uint32_t users = 0;           // open files
  std::set<std::int64_t> consumers;  // CPUs whose trace_pipe is open; -1: all

  std::uint64_t stamp(std::uint64_t mono_ns);
  // What the record that is stored next will be stamped with.
  std::uint64_t next_stamp(std::uint64_t mono_ns) const;
  bool stamps_ns() const { return clock != TraceClock::Counter; }
  // Records of two clocks cannot stand side by side: what was recorded goes.
  void set_clock(TraceClock wanted);
  // The time that was stamped so; nullopt where the clock counts.
  std::optional<std::uint64_t> mono_ns(std::uint64_t stamp) const;
  // event-fork: a child of a listed thread is listed.
  void note_fork(std::int32_t parent, std::int32_t child);
  bool lets_through(std::uint32_t cpu, std::int32_t pid) const;
  bool lets_thread_through(std::int32_t pid) const;
  CpuBuffer::WhenFull when_full() const;
  void clear() { buffer.clear(); }
  // Off where it was never touched; by the event's id.
  EventState& state_of(std::uint32_t event) { return events[event]; }
  const EventState* find_state(std::uint32_t event) const;
  bool has_triggers(const TracedEvent& event) const;
  bool has_trigger(const TracedEvent& event, model::TriggerKind kind) const;
  // Whether histograms of the event read the stack of a hit.
  bool counts_stacks_of(const TracedEvent& event) const;
  // Whether records of probes come with stacks: by an option all of them, by a trigger the event's.
  bool has_stack_option() const;
  bool wants_stack_of(const TracedEvent& event) const;
  // Whether stacks may stand behind records.
  bool records_stacks() const;
  // Into `buffer` or the snapshot, stamped. False: it is full, or has no such CPU.
  bool store(TraceBuffer& into, const runtime::Record& record);
  // Makes the snapshot's buffers where there are none.
  void reserve_snapshot();
  // Exchanges them with the buffers that are recorded into.
  void take_snapshot();
};

}  // namespace kevt::engine
