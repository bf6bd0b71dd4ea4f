// KmodRuntime: events of the kernel as BPF programs that kevtrace.ko runs from its own kprobes and kretprobes:
// maxactive, the kernel's count of misses, batches, and switching off without removal.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime-user/runtime/bpf/kernel_events.h"
#include "runtime-user/runtime/kmod/device.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::kmod {

class KmodRuntime final : public runtime::ProbeRuntime {
 public:
  // Fails where the module is not loaded or not for us, or the kernel refuses BPF; the error says which.
  static Result<std::unique_ptr<KmodRuntime>> create(const bpf::KernelSession& session);

  runtime::Capabilities capabilities() const override;
  // Programs are loaded and probes registered, disabled.
  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids) override;
  Result<void> arm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> disarm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> remove(std::span<const runtime::ProbeHandle> probes) override;
  std::span<std::uint64_t> shared_words() override { return events_->shared_words(); }
  runtime::EventCounts counts(runtime::ProbeHandle probe) const override;
  runtime::ArmStatus arm_status(runtime::ProbeHandle probe) const override;
  std::size_t drain(const runtime::RecordSink& sink) override { return events_->drain(sink); }
  void settle() { events_->settle(); }                                           // as of BpfRuntime
  void read_also(bpf::TracepointReader* reader) { events_->read_also(reader); }  // as of KernelEvents

 private:
  KmodRuntime(Device device, std::unique_ptr<bpf::KernelEvents> events)
      : events_(std::move(events)), device_(std::move(device)) {}
  std::vector<std::uint32_t> ids_of(std::span<const runtime::ProbeHandle> probes) const;
  Error refused(Error error, runtime::ProbeHandle probe) const;

  std::unique_ptr<bpf::KernelEvents> events_;
  Device device_;                   // closed first: nothing runs a program that is gone
  std::vector<std::uint32_t> ids_;  // by handle
};

}  // namespace kevt::kmod
