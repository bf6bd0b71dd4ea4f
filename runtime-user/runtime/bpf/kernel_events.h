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
  // Where a probe of a place really stands, for its records; empty: there.
  std::function<std::uint64_t(std::uint64_t)> probed_address;
  // What stands in a return address's place while a return probe waits for it; 0: not known.
  std::uint64_t return_trampoline = 0;
  // The id of a static event, for eprobes; empty, or nullopt: there is no such event.
  std::function<std::optional<std::uint32_t>(const model::EventPlace&)> event_id;
};

// Who keeps the arguments of the entry for return probes: programs of ours there, or whoever runs our programs.
enum class EntryPrograms : std::uint8_t { Ours, None };

class KernelEvents {
 public:
  static Result<std::unique_ptr<KernelEvents>> create(const KernelSession& session, EntryPrograms entries);

  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids);
  void remove(runtime::ProbeHandle probe);
  // As of ProbeRuntime: its program and hit tables go, where it shares them with no other event.
  void retire(runtime::ProbeHandle probe);

  // An installed event; our mistake to ask for another.
  struct Installed {
    model::CompiledEvent event;  // without code
    int program = -1;
    int entry_program = -1;    // of a return probe whose arguments a program of ours keeps: for its function's entry
    std::uint64_t cookie = 0;  // less than 2^32
  };
  const Installed& at(runtime::ProbeHandle probe) const;
  std::size_t size() const { return events_.size(); }

  // What the program counted; `missed` is what found its scratch in use.
  runtime::EventCounts counts(runtime::ProbeHandle probe) const;
  // Of all programs; see ProbeRuntime::shared_cells().
  std::span<std::uint64_t> shared_cells() {
    return {reinterpret_cast<std::uint64_t*>(words_.value(0)), KEVT_BPF_WORDS};
  }
  // As ProbeRuntime has them. Tables of one event have a map of their own, which goes with it.
  std::size_t free_hit_tables() const;
  void take_hit_counts(runtime::ProbeHandle probe, const runtime::HitCountSink& sink);
  // In order of time, up to when this was called; all of it once settled.
  std::size_t drain(const runtime::RecordSink& sink);
  void settle() { settled_ = true; }
  // Records of static events come with ours, in one order of time. The reader is kept by the caller; nullptr: none.
  void read_also(TracepointReader* reader) { also_ = reader; }

 private:
  struct HitTables {
    ArrayMap map;  // for each histogram a table for each CPU
    std::vector<runtime::HitTableReader> readers;
    std::uint64_t lost_told = 0;  // of hits that would have counted in them
  };
  // Equal programs are one; each of its events has a block in its map.
  struct Group {
    model::BpfCode code;  // without instructions
    UniqueFd program;
    UniqueFd entry_program;  // where arguments are kept by one
    std::optional<ArrayMap> events;
    std::optional<ArrayMap> scratch;  // of its own
    std::optional<HitTables> hits;    // of the only event
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
  std::size_t hit_tables_ = 0;       // that there are
  // Of programs that do not nest, by bytes of a CPU. Those that can be preempted have others: what is hit meanwhile is
  // not kept from theirs.
  struct Scratch {
    std::uint32_t bytes_per_cpu = 0;
    bool is_preempted = false;
    ArrayMap map;
  };
  std::vector<Scratch> scratches_;
  std::vector<Group> groups_;
  std::vector<Event> events_;
  TimeMerger<Waiting> waiting_;
  TracepointReader* also_ = nullptr;
  bool settled_ = false;
};

}  // namespace kevt::bpf
