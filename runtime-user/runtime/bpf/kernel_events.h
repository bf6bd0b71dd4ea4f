// KernelEvents: events that run as BPF programs in the kernel: their programs, maps, rings and counts. Where they are
// attached, and by whom, is a runtime's business (bpf: perf events; kmod: kevtrace.ko).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/abi/bpf.h"
#include "common/abi/hit_table.h"
#include "common/error.h"
#include "common/time_merger.h"
#include "common/unique_fd.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/bpf/array_map.h"
#include "runtime-user/runtime/bpf/cpu_rings.h"
#include "runtime-user/runtime/bpf/tracepoint_reader.h"
#include "runtime-user/runtime/hit_table_reader.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::bpf {

struct KernelSession {
  std::uint32_t ring_bytes = 4 << 20;  // of each CPU; a power of two
  unsigned possible_cpus = 1;
  // The address at which a probe of a given address really stands, for its records; empty: the same address.
  std::function<std::uint64_t(std::uint64_t)> probed_address;
  // What replaces a return address while a return probe waits for the return; 0: not known.
  std::uint64_t return_trampoline = 0;
  // The id of a static event, for eprobes; empty, or nullopt: there is no such event.
  std::function<std::optional<std::uint32_t>(const model::EventPlace&)> event_id;
};

// Who keeps the entry's arguments for return probes: entry programs of ours, or whoever runs our programs.
enum class EntryPrograms : std::uint8_t { Ours, None };

class KernelEvents {
 public:
  static Result<std::unique_ptr<KernelEvents>> create(const KernelSession& session, EntryPrograms entries);

  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids);
  void remove(runtime::ProbeHandle probe);
  // See ProbeRuntime: frees the program and the hit tables of an event that has hit tables; it shares them with no
  // other.
  void retire(runtime::ProbeHandle probe);

  // An installed event; to ask for any other handle is our bug.
  struct Installed {
    model::CompiledEvent event;  // without code
    int program = -1;
    int entry_program = -1;    // of a return probe whose arguments a program of ours keeps: for its function's entry
    std::uint64_t cookie = 0;  // less than 2^32
  };
  const Installed& at(runtime::ProbeHandle probe) const;
  std::size_t size() const { return events_.size(); }

  // What the program counted; `missed`: hits that found the scratch in use, or no kept arguments.
  runtime::EventCounts counts(runtime::ProbeHandle probe) const;
  // The words of all programs; see ProbeRuntime::shared_cells().
  std::span<std::uint64_t> shared_cells() {
    return {reinterpret_cast<std::uint64_t*>(words_.value(0)), KEVT_BPF_WORDS};
  }
  // See ProbeRuntime. The hit tables of one event are a map of their own, which is freed with the event.
  std::size_t free_hit_tables() const;
  void take_hit_counts(runtime::ProbeHandle probe, const runtime::HitCountSink& sink);
  // See ProbeRuntime. Stacks of hits have numbers of the kernel's, which stay.
  std::span<const std::uint64_t> stack(std::uint64_t number);
  // Hands out records in order of time, up to the time of the call; all of them once settled.
  std::size_t drain(const runtime::RecordSink& sink);
  void settle() { settled_ = true; }
  // From now on drain() hands out the reader's records of static events with ours, in one order of time. The caller
  // owns the reader; nullptr: none.
  void read_also(TracepointReader* reader) { also_ = reader; }
  void let_go_in_copy() {
    if (also_) also_->let_go_in_copy();
  }

 private:
  struct HitTables {
    ArrayMap map;  // for each histogram a table for each CPU
    std::vector<runtime::HitTableReader> readers;
    std::uint64_t lost_told = 0;  // of hits that would have counted in them
  };
  // The events whose programs are equal: they share one program, and each has a block in its map.
  struct Group {
    model::BpfCode code;  // without instructions
    UniqueFd program;
    UniqueFd entry_program;  // set where a program of ours keeps entry arguments
    std::optional<ArrayMap> events;
    std::optional<ArrayMap> scratch;  // set where the group has its own
    std::optional<HitTables> hits;    // set where the only event has hit tables
    std::uint32_t users = 0;
  };
  struct Event {
    Installed installed;
    std::uint32_t group = 0;
    std::uint32_t index = 0;  // in the group's map
    bool removed = false;
  };
  struct Waiting {
    std::uint32_t cpu = 0;
    std::vector<std::uint8_t> bytes;  // with their prefix
    std::vector<std::uint64_t> stack;
  };
  KernelEvents(CpuRings rings, ArrayMap words, const KernelSession& session, EntryPrograms entries)
      : rings_(std::move(rings)),
        words_(std::move(words)),
        probed_address_(session.probed_address),
        return_trampoline_(session.return_trampoline),
        entries_(entries),
        table_bytes_(std::uint64_t{std::bit_ceil(std::clamp(session.possible_cpus, 1u, model::kMaxBpfCpus))} *
                     KEVT_HIT_BPF_BYTES) {}
  Result<int> hit_tables_of(Group& group, const model::CompiledEvent& one);
  void drop_hit_tables(Group& group);
  Result<int> stacks_of(const model::BpfCode& code);
  Result<int> scratch_of(Group& group, const model::BpfCode& code);
  // `one`: any of the program's events.
  Result<void> load(Group& group, const model::BpfCode& code, std::uint32_t users, const model::CompiledEvent& one);
  Result<UniqueFd> keep_arguments(Group& group, const model::BpfCode& code, const model::CompiledEvent& one);
  void fill_block(const Event& event, std::uint32_t id, runtime::ProbeHandle handle);
  void deliver(const runtime::RecordSink& sink, std::uint64_t until);

  CpuRings rings_;
  ArrayMap words_;
  std::function<std::uint64_t(std::uint64_t)> probed_address_;
  const std::uint64_t return_trampoline_;
  const EntryPrograms entries_;
  const std::uint64_t table_bytes_;  // of a hit table on all CPUs
  std::size_t hit_tables_ = 0;       // in use
  // Scratch maps of programs that do not nest, by bytes per CPU. Programs that can be preempted use other maps, so that
  // a program that runs meanwhile finds its own scratch free.
  struct Scratch {
    std::uint32_t bytes_per_cpu = 0;
    bool is_preempted = false;
    ArrayMap map;
  };
  std::vector<Scratch> scratches_;
  UniqueFd stacks_;  // since the first program that numbers stacks
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> known_stacks_;  // by number
  std::vector<Group> groups_;
  std::vector<Event> events_;
  TimeMerger<Waiting> waiting_;
  TracepointReader* also_ = nullptr;
  bool settled_ = false;
};

}  // namespace kevt::bpf
