// KmodRuntime: events of the kernel as BPF programs that kevtrace.ko runs from its own kprobes and kretprobes:
// maxactive, the kernel's count of misses, batches, and switching off without removal. What the module does not run (f,
// t, w, e and programs' events) is refused, or run as the bpf runtime does, from the same rings and with the same
// words.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime-user/runtime/bpf/bpf_runtime.h"
#include "runtime-user/runtime/kmod/device.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::kmod {

// What becomes of events that the module does not run.
enum class OtherEvents : std::uint8_t { Refused, ByBpf };

class KmodRuntime final : public runtime::ProbeRuntime {
 public:
  // Fails where the module is not loaded, we may not open it, or the kernel refuses BPF; the error says which.
  static Result<std::unique_ptr<KmodRuntime>> create(const bpf::KernelSession& session, OtherEvents others);

  runtime::Capabilities capabilities() const override;
  // Programs are loaded and probes registered, disabled.
  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids) override;
  Result<void> arm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> disarm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> remove(std::span<const runtime::ProbeHandle> probes) override;
  void retire(std::span<const runtime::ProbeHandle> probes) override;
  void let_go_in_copy() override { bpf_->let_go_in_copy(); }  // the module's are taken out by requests
  std::span<std::uint64_t> shared_cells() override { return bpf_->shared_cells(); }
  runtime::EventCounts counts(runtime::ProbeHandle probe) const override;
  runtime::ArmStatus arm_status(runtime::ProbeHandle probe) const override;
  std::size_t drain(const runtime::RecordSink& sink) override { return bpf_->drain(sink); }
  std::size_t free_hit_tables() const override { return bpf_->free_hit_tables(); }
  std::span<const std::uint64_t> stack(std::uint64_t number) override { return bpf_->stack(number); }
  void take_hit_counts(runtime::ProbeHandle probe, const runtime::HitCountSink& sink) override {
    bpf_->take_hit_counts(probe, sink);
  }
  void settle() { bpf_->settle(); }                                           // as of BpfRuntime
  void read_also(bpf::TracepointReader* reader) { bpf_->read_also(reader); }  // as of KernelEvents

 private:
  KmodRuntime(Device device, std::unique_ptr<bpf::BpfRuntime> programs, OtherEvents others)
      : bpf_(std::move(programs)), device_(std::move(device)), others_(others) {}
  bool is_ours(runtime::ProbeHandle probe) const;
  struct Parts {
    std::vector<runtime::ProbeHandle> ours;
    std::vector<runtime::ProbeHandle> others;
  };
  Parts split(std::span<const runtime::ProbeHandle> probes) const;
  kevt_kmod_probe request(runtime::ProbeHandle probe) const;
  Result<void> add(std::span<const runtime::ProbeHandle> ours);
  std::vector<std::uint32_t> ids_of(std::span<const runtime::ProbeHandle> probes) const;
  Error refused(Error error, runtime::ProbeHandle probe) const;

  std::unique_ptr<bpf::BpfRuntime> bpf_;  // loads all programs, and arms those that are not ours
  Device device_;                         // closed first: no probe runs a program that is gone
  OtherEvents others_;
  bool has_others_ = false;
  std::vector<std::uint32_t> ids_;  // by handle, of ours; kRetired: the module has it no more
  std::map<runtime::ProbeHandle, std::uint64_t> retired_misses_;
};

}  // namespace kevt::kmod
