// FakeRuntime: a ProbeRuntime without a target. Tests say what was hit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::runtime {

struct FakeHit {
  std::vector<std::uint8_t> bytes;  // of the record, from __probe_ip on: the 8 common bytes are made here
  std::uint64_t timestamp_ns = 0;
  std::uint32_t cpu = 0;
  std::int32_t pid = 1;
  std::string comm = "fake";
  std::vector<std::uint64_t> stack = {};
};

class FakeRuntime final : public ProbeRuntime {
 public:
  Capabilities capabilities() const override {
    return {.name = "fake",
            .sees_misses = true,
            .clocks = {"mono"},
            .code = code,
            .hit_histograms = hit_histograms,
            .names_threads = names_threads,
            .numbers_stacks = true};
  }
  Result<std::vector<ProbeHandle>> install(const model::CompiledBatch& batch,
                                           std::span<const std::uint32_t> ids) override;
  Result<void> arm(std::span<const ProbeHandle> probes) override { return set(probes, true); }
  Result<void> disarm(std::span<const ProbeHandle> probes) override { return set(probes, false); }
  Result<void> remove(std::span<const ProbeHandle> probes) override {
    removed += probes.size();
    return set(probes, false);
  }
  EventCounts counts(ProbeHandle probe) const override { return probes_[probe].counts; }
  void retire(std::span<const ProbeHandle> probes) override;
  bool has_final_counts(ProbeHandle probe) const override { return probes_[probe].is_final; }
  ArmStatus arm_status(ProbeHandle probe) const override;
  std::size_t drain(const RecordSink& sink) override;
  std::span<std::uint64_t> shared_cells() override { return words; }
  std::size_t free_hit_tables() const override { return tables_left; }
  void take_hit_counts(ProbeHandle probe, const HitCountSink& sink) override;
  std::string_view thread_name(std::int32_t) override { return "fake"; }
  std::span<const std::uint64_t> stack(std::uint64_t number) override { return stacks[number]; }

  // Hits all armed probes of this event; returns how many. Filters are not looked at: `is_kept` decides which hits are
  // recorded; all are where it is empty.
  std::size_t hit(std::uint32_t id, const FakeHit& hit);
  std::function<bool(const FakeHit&)> is_kept;
  // The same by a thread that is killed between its record and its count; the process has ended.
  void hit_and_be_killed(std::uint32_t id, const FakeHit& hit);
  // Counts hits of this event's armed probe in the first of its hit tables, by this key. An empty key: the hits are
  // lost.
  void count(std::uint32_t id, std::vector<std::uint64_t> key, std::uint64_t hits, std::vector<std::uint64_t> sums);
  // The same by a hit that was under way when the probe was disarmed. `raised`: as HitCount::raised.
  void count_late(std::uint32_t id, std::vector<std::uint64_t> key, std::vector<std::uint64_t> sums,
                  std::uint64_t raised);
  // The library of this event's armed probe was unloaded, and may come again.
  void unload(std::uint32_t id);
  // Gives back what was retired so far.
  void reclaim();
  std::size_t removed = 0;
  // Hit tables of the event's armed probe.
  std::size_t hit_tables(std::uint32_t id) const;
  std::size_t hit_histograms = 0;  // set before tracing: how many of one event hits can count
  model::CodeKind code = model::CodeKind::Native;
  bool names_threads = true;
  std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;  // by number
  std::size_t retired = 0;
  std::size_t tables_left = 64;
  // The next arm, disarm, remove or install is refused with this.
  std::optional<Error> next_refusal;
  std::optional<Error> next_arm_refusal;  // the next arm only
  // Called before probes of these events are armed, or disarmed.
  std::function<void(std::span<const std::uint32_t> ids, bool armed)> before_change;
  std::vector<std::uint64_t> words;  // the shared cells; set before tracing

  std::size_t installed() const { return probes_.size(); }
  std::size_t armed() const;
  std::size_t changes = 0;  // calls of arm, disarm and remove

 private:
  struct Probe {
    std::uint32_t id = 0;
    bool armed = false, is_gone = false, is_retired = false, is_final = false;
    EventCounts counts;
    std::vector<model::HitTable> tables;
  };
  struct Counted {
    ProbeHandle probe;
    std::uint64_t trigger;
    std::vector<std::uint64_t> key;
    std::uint64_t hits;
    std::vector<std::uint64_t> sums;
    std::uint64_t raised = ~0ull;
  };
  struct Waiting {
    ProbeHandle probe;
    FakeHit hit;
  };
  Result<void> set(std::span<const ProbeHandle> probes, bool armed);
  std::vector<Probe> probes_;
  std::deque<Waiting> waiting_;
  std::vector<Counted> counted_;
};

}  // namespace kevt::runtime
