// BpfRuntime: events of the kernel as BPF programs behind perf's kprobes and uprobes. Needs no module.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime-user/runtime/bpf/kernel_events.h"
#include "runtime-user/runtime/bpf/probe_link.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::bpf {

class BpfRuntime final : public runtime::ProbeRuntime {
 public:
  // Fails where the kernel refuses BPF to us; the error says what is missing. `entries`: None where whoever runs the
  // kernel's return probes keeps their arguments.
  static Result<std::unique_ptr<BpfRuntime>> create(const KernelSession& session,
                                                    EntryPrograms entries = EntryPrograms::Ours);

  runtime::Capabilities capabilities() const override;
  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids) override;
  Result<void> arm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> disarm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> remove(std::span<const runtime::ProbeHandle> probes) override;
  void retire(std::span<const runtime::ProbeHandle> probes) override {
    for (const runtime::ProbeHandle probe : probes) events_->retire(probe);
  }
  // Misses from then on are not known.
  void let_go_in_copy() override;
  std::span<std::uint64_t> shared_cells() override { return events_->shared_cells(); }
  // Misses are those that the kernel counts, where it tells them; else they are unknown, and not in `attempts`.
  runtime::EventCounts counts(runtime::ProbeHandle probe) const override;
  runtime::ArmStatus arm_status(runtime::ProbeHandle probe) const override;
  std::size_t drain(const runtime::RecordSink& sink) override { return events_->drain(sink); }
  std::size_t free_hit_tables() const override { return events_->free_hit_tables(); }
  void take_hit_counts(runtime::ProbeHandle probe, const runtime::HitCountSink& sink) override {
    events_->take_hit_counts(probe, sink);
  }
  std::span<const std::uint64_t> stack(std::uint64_t number) override { return events_->stack(number); }
  // No probe hits any more: the next drain hands out everything.
  void settle() { events_->settle(); }
  void read_also(TracepointReader* reader) { events_->read_also(reader); }  // see KernelEvents
  // The programs and their counters, for a runtime that runs some of the programs itself.
  const KernelEvents& events() const { return *events_; }

 private:
  struct Links {
    std::optional<ProbeLink> entry;  // of the program that keeps a return probe's arguments; closed last
    std::optional<ProbeLink> link;
  };
  struct Armed {
    Links links;
    std::uint32_t times = 0;
    std::uint64_t missed = 0;    // of links that are gone
    std::uint64_t accesses = 0;  // the same for a watch's accesses
  };
  BpfRuntime(std::unique_ptr<KernelEvents> events, const KernelSession& session)
      : events_(std::move(events)), event_id_(session.event_id) {}
  std::vector<runtime::ProbeHandle> arming_order(std::span<const runtime::ProbeHandle> probes) const;
  Result<Links> attach_both(runtime::ProbeHandle probe);
  Result<ProbeLink> attach(const KernelEvents::Installed& installed, ProbeLink::Program program,
                           model::ProbeKind point) const;

  std::unique_ptr<KernelEvents> events_;
  std::function<std::optional<std::uint32_t>(const model::EventPlace&)> event_id_;
  std::vector<Armed> armed_;
  // told_: the kernel tells the misses of some probe that was armed; untold_: it does not tell those of some probe.
  bool told_ = false;
  bool untold_ = false;
};

}  // namespace kevt::bpf
