// What bpf does with a perf event for each probe, by requests for all of a batch at once.
#include "runtime-user/runtime/kmod/kmod_runtime.h"

#include <cerrno>

#include "common/abi/probe.h"
#include "common/assert.h"

namespace kevt::kmod {

using runtime::ProbeHandle;

namespace {

std::string why_refused(const model::Definition& definition, int reason) {
  switch (reason) {
    case EILSEQ:
      return "there is no instruction at this address";
    case EINVAL:
      return definition.point == model::ProbePoint::Return ? "the kernel allows no return probe here"
                                                           : "the kernel allows no probe here";
    case EOPNOTSUPP:
      return "the module does not run such a program";
    default:
      return "";
  }
}

}  // namespace

Result<std::unique_ptr<KmodRuntime>> KmodRuntime::create(const bpf::KernelSession& session) {
  auto device = Device::open();
  if (!device) return std::unexpected(std::move(device.error()));
  auto events = bpf::KernelEvents::create(session, bpf::EntryPrograms::None);
  if (!events) return std::unexpected(std::move(events.error()));
  return std::unique_ptr<KmodRuntime>(new KmodRuntime(std::move(*device), std::move(*events)));
}

runtime::Capabilities KmodRuntime::capabilities() const {
  return {.name = "kmod", .sees_misses = true, .clocks = {"mono"}, .code = model::CodeKind::Bpf};
}

Error KmodRuntime::refused(Error error, ProbeHandle probe) const {
  const model::Definition& definition = events_->at(probe).event.definition;
  const std::string why = why_refused(definition, error.errno_value());
  if (why.empty()) return std::move(error).while_doing("arming `" + definition.command + "`");
  return Error("`" + definition.command + "`: " + why, error.errno_value());
}

Result<std::vector<ProbeHandle>> KmodRuntime::install(const model::CompiledBatch& batch,
                                                      std::span<const std::uint32_t> ids) {
  for (const model::CompiledEvent& event : batch.events)
    if (event.definition.kind != model::EventKind::Kprobe)
      return std::unexpected(
          Error("`" + event.definition.command + "`: the kmod runtime runs kprobes alone (`p` and `r`)", EOPNOTSUPP));
  auto handles = events_->install(batch, ids);
  if (!handles) return handles;
  std::vector<kevt_kmod_probe> probes;
  for (ProbeHandle handle : *handles) {
    const bpf::KernelEvents::Installed& installed = events_->at(handle);
    const model::Definition& definition = installed.event.definition;
    probes.push_back({.address = installed.event.place_address,
                      .cookie = installed.cookie,
                      .program = installed.program,
                      .kind = definition.point == model::ProbePoint::Return ? std::uint32_t{KEVT_KMOD_RETURN}
                                                                            : std::uint32_t{KEVT_KMOD_ENTRY},
                      .maxactive = definition.maxactive.value_or(0),
                      .id = 0,
                      .kept = {}});
    const std::vector<std::uint16_t>& kept = installed.event.entry_arguments;
    static_assert(int{KEVT_KMOD_MAX_KEPT} == int{KEVT_ENTRY_ARGUMENTS});
    KEVT_ASSERT(kept.size() <= KEVT_KMOD_MAX_KEPT);
    for (std::size_t i = 0; i < kept.size(); ++i) probes.back().kept[i] = kept[i];
  }
  std::size_t which = 0;
  if (auto added = device_.add(probes, which); !added) {
    Error error =
        which < handles->size() ? refused(std::move(added.error()), (*handles)[which]) : std::move(added.error());
    for (ProbeHandle handle : *handles) events_->remove(handle);
    return std::unexpected(std::move(error));
  }
  ids_.resize(events_->size());
  for (std::size_t i = 0; i < probes.size(); ++i) ids_[(*handles)[i]] = probes[i].id;
  return handles;
}

std::vector<std::uint32_t> KmodRuntime::ids_of(std::span<const ProbeHandle> probes) const {
  std::vector<std::uint32_t> ids;
  for (ProbeHandle probe : probes) ids.push_back(ids_[probe]);
  return ids;
}

Result<void> KmodRuntime::arm(std::span<const ProbeHandle> probes) {
  std::size_t which = 0;
  auto done = device_.enable(ids_of(probes), which);
  if (done || which >= probes.size()) return done;
  return std::unexpected(refused(std::move(done.error()), probes[which]));
}

Result<void> KmodRuntime::disarm(std::span<const ProbeHandle> probes) {
  std::size_t which = 0;
  return device_.disable(ids_of(probes), which);
}

Result<void> KmodRuntime::remove(std::span<const ProbeHandle> probes) {
  if (auto removed = device_.remove(ids_of(probes)); !removed) return removed;
  for (ProbeHandle probe : probes) events_->remove(probe);
  return {};
}

runtime::EventCounts KmodRuntime::counts(ProbeHandle probe) const {
  runtime::EventCounts sum = events_->counts(probe);
  const auto status = device_.status({&ids_[probe], 1});
  if (!status) return sum;
  sum.missed += status->front().missed;
  sum.attempts += status->front().missed;
  return sum;
}

runtime::ArmStatus KmodRuntime::arm_status(ProbeHandle probe) const {
  const auto status = device_.status({&ids_[probe], 1});
  if (!status) return {};
  const std::uint32_t state = status->front().state;
  if (state & KEVT_KMOD_GONE) return {.state = runtime::ArmState::Gone, .reason = "its module was unloaded"};
  if (state & KEVT_KMOD_DISABLED) return {};
  if (state & KEVT_KMOD_FTRACE) return {.state = runtime::ArmState::Jump, .reason = "ftrace"};
  if (state & KEVT_KMOD_OPTIMIZED) return {.state = runtime::ArmState::Jump, .reason = "optimized"};
  return {.state = runtime::ArmState::Breakpoint, .reason = "not optimized by the kernel"};
}

}  // namespace kevt::kmod
