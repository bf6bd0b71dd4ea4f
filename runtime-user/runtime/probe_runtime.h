// ProbeRuntime: what a runtime is to the engine. It receives CompiledEvents, never the compiler.
// inproc, bpf and kmod implement it, and fake for tests.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/model/compiled_event.h"

namespace kevt::runtime {

// Names one installed event; valid until remove().
using ProbeHandle = std::uint32_t;

// attempts == recorded + aggregated + filtered + lost + missed whenever no hit is under way; see
// docs/architecture.md, "Counting". Each is a counter of its own.
struct EventCounts {
  std::uint64_t attempts = 0;
  std::uint64_t recorded = 0;
  std::uint64_t filtered = 0;
  std::uint64_t lost = 0;
  std::uint64_t missed = 0;
  std::uint64_t faults = 0;      // numbers that could not be read (stored as 0), over all hits
  std::uint64_t aggregated = 0;  // counted in a histogram, and not recorded

  EventCounts& operator+=(const EventCounts& other) {
    attempts += other.attempts;
    recorded += other.recorded;
    aggregated += other.aggregated;
    filtered += other.filtered;
    lost += other.lost;
    missed += other.missed;
    faults += other.faults;
    return *this;
  }
};

enum class ArmState : std::uint8_t {
  Off,
  Jump,
  Breakpoint,
  Gone,      // its library was unloaded; noticed when probes or libraries change, or at the end
  Deferred,  // its library is not loaded yet; it is armed once the library is loaded
};
struct ArmStatus {
  ArmState state = ArmState::Off;
  std::string reason;     // Breakpoint: why not a jump; Jump: how, if the kernel says; Gone, Deferred: the library
  bool may_come = false;  // Gone: the code may come again, at this place or another
};

// One record as the event's `format` describes it. `bytes` lives until the callback returns.
struct Record {
  ProbeHandle event = 0;
  std::uint64_t timestamp_ns = 0;  // CLOCK_MONOTONIC
  std::uint32_t cpu = 0;
  std::string_view comm;  // of the thread that hit
  std::span<const std::uint8_t> bytes;
  std::span<const std::uint64_t> stack;  // return addresses, innermost first, where they were asked for
};
using RecordSink = std::function<void(const Record&)>;

// By how much one key of a histogram has grown that hits count themselves (model::HitTable).
struct HitCount {
  std::uint64_t trigger = 0;
  std::span<const std::uint64_t> key;  // valid until the callback returns, like `sums`; empty: hits that are lost
  std::uint64_t hits = 0;              // of this key; where it is empty, of hits without room in table and ring
  // By how much sums have grown; of HitTable::greatest the words as they are, of all hits since the code was installed.
  std::span<const std::uint64_t> sums;
  // Of HitTable::greatest: bit i says that word i was raised since the last reading.
  std::uint64_t raised = 0;
};
using HitCountSink = std::function<void(const HitCount&)>;

struct Capabilities {
  std::string name;         // "inproc"
  bool sees_misses = true;  // false: profile prints `missed ?`
  std::vector<std::string> clocks;
  model::CodeKind code = model::CodeKind::Native;  // what install() takes
  std::size_t hit_histograms = 0;                  // of one event, that hits can count: CompiledEvent::hit_tables
  bool names_threads = false;                      // thread_name() knows the threads that have hit
  // Hits can count by stack: stack() knows the numbers. By BPF not at uprobes, whose programs may sleep.
  bool numbers_stacks = false;
};

class ProbeRuntime {
 public:
  virtual ~ProbeRuntime() = default;

  virtual Capabilities capabilities() const = 0;

  // For each event of a batch, why install() would refuse the event; an empty text: no reason is known.
  virtual Result<std::vector<std::string>> refusals(const model::CompiledBatch& batch) {
    return std::vector<std::string>(batch.events.size());
  }
  // Makes the events of a batch known, disarmed. `ids[i]` is the event id (common_type) of event i.
  // All or nothing.
  virtual Result<std::vector<ProbeHandle>> install(const model::CompiledBatch& batch,
                                                   std::span<const std::uint32_t> ids) = 0;
  // Each call is one batch. arm() arms all of its probes; on an error none of them is armed. disarm() and remove() may
  // have changed some of theirs when they fail, and can be called again.
  virtual Result<void> arm(std::span<const ProbeHandle> probes) = 0;
  virtual Result<void> disarm(std::span<const ProbeHandle> probes) = 0;
  virtual Result<void> remove(std::span<const ProbeHandle> probes) = 0;
  // These probes are disarmed and will never be armed again: the runtime may free what they hold, except their counts.
  virtual void retire(std::span<const ProbeHandle>) {}
  // Whether that is done, so that the counts stay as they are.
  virtual bool has_final_counts(ProbeHandle) const { return false; }
  // Arms some probes and disarms others, or changes nothing. A runtime that can do both at once does, so that no hit
  // falls in between or is seen twice; this default disarms first, and does not see hits in between.
  virtual Result<void> replace(std::span<const ProbeHandle> armed, std::span<const ProbeHandle> disarmed) {
    KEVT_TRY(disarm(disarmed));
    auto done = arm(armed);
    if (!done) (void)arm(disarmed);
    return done;
  }

  // Whether probes are armed by jumps where they can be, or by breakpoints alone (kprobes' optimization knob).
  // EOPNOTSUPP: this runtime has no choice.
  virtual Result<void> use_jumps(bool wanted) {
    if (wanted) return {};
    return std::unexpected(Error("this runtime does not choose how probes are armed", EOPNOTSUPP));
  }

  // In a copy of this process (fork): lets go of what would keep probes in place that the process itself takes out. The
  // copy reads on, and no probe is armed by it.
  virtual void let_go_in_copy() {}

  // The words that SharedCell slots name by index, all 0 at first. Hits read and change them at any time. Empty: this
  // runtime has none.
  virtual std::span<std::uint64_t> shared_cells() { return {}; }

  virtual EventCounts counts(ProbeHandle probe) const = 0;
  virtual ArmStatus arm_status(ProbeHandle probe) const = 0;

  // Hands out what has been committed, merged by time. Never blocks. Returns how
  // many records were read; those that have to wait for older ones of another CPU are handed out by a later call.
  virtual std::size_t drain(const RecordSink& sink) = 0;
  // The same without merging, where that costs less: one CPU after the other, the records of each in their order.
  virtual std::size_t drain_by_cpu(const RecordSink& sink) { return drain(sink); }
  // How many hit tables are left for events that are yet to be installed (CompiledEvent::hit_tables).
  virtual std::size_t free_hit_tables() const { return 0; }
  // Tells what hits of this probe have counted in its hit tables since the last call, each hit exactly once; and how
  // many hits found room neither in a table nor in the ring. Never blocks.
  virtual void take_hit_counts(ProbeHandle, const HitCountSink&) {}
  // The name of a thread that has hit, until the next call; empty or `<...>`: it is not known.
  virtual std::string_view thread_name(std::int32_t) { return {}; }
  // The stack of this number, code addresses, innermost first; until the next call. Empty: there is none.
  virtual std::span<const std::uint64_t> stack(std::uint64_t) { return {}; }
};

}  // namespace kevt::runtime
