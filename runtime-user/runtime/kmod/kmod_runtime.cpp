// What bpf does with a perf event for each probe, by requests for all of a batch at once.
#include "runtime-user/runtime/kmod/kmod_runtime.h"

#include <cerrno>

#include "common/abi/probe.h"
#include "common/assert.h"
#include "common/error.h"

namespace kevt::kmod {

using runtime::ProbeHandle;

namespace {

constexpr std::uint32_t kRetired = ~0u;

std::string why_refused(const model::Definition& definition, int reason) {
  switch (reason) {
    case EILSEQ:
      return "there is no instruction at this address";
    case EINVAL:
      return definition.probe_kind == model::ProbeKind::Return ? "the kernel allows no return probe here"
                                                               : "the kernel allows no probe here";
    case EOPNOTSUPP:
      return "the module does not run such a program";
    default:
      return "";
  }
}

}  // namespace

// Return probes that the bpf runtime runs need an entry program. Equal programs are loaded once, whoever runs them.
Result<std::unique_ptr<KmodRuntime>> KmodRuntime::create(const bpf::KernelSession& session, OtherEvents others) {
  auto device = KEVT_TRY(Device::open());
  auto programs = KEVT_TRY(bpf::BpfRuntime::create(
      session, others == OtherEvents::ByBpf ? bpf::EntryPrograms::Ours : bpf::EntryPrograms::None));
  return std::unique_ptr<KmodRuntime>(new KmodRuntime(std::move(device), std::move(programs), others));
}

// The module always tells the misses of the probes that it runs.
runtime::Capabilities KmodRuntime::capabilities() const {
  return {.name = others_ == OtherEvents::ByBpf ? "auto" : "kmod",
          .sees_misses = !has_others_ || bpf_->capabilities().sees_misses,
          .clocks = {"mono"},
          .code = model::CodeKind::Bpf,
          .hit_histograms = bpf_->capabilities().hit_histograms,
          .numbers_stacks = true};
}

bool KmodRuntime::is_ours(ProbeHandle probe) const {
  return bpf_->events().at(probe).event.definition.kind == model::EventKind::Kprobe;
}

KmodRuntime::Parts KmodRuntime::split(std::span<const ProbeHandle> probes) const {
  Parts parts;
  for (const ProbeHandle probe : probes) (is_ours(probe) ? parts.ours : parts.others).push_back(probe);
  return parts;
}

Error KmodRuntime::refused(Error error, ProbeHandle probe) const {
  const model::Definition& definition = bpf_->events().at(probe).event.definition;
  const std::string why = why_refused(definition, error.errno_value());
  if (why.empty()) return std::move(error).while_doing("arming `" + definition.command + "`");
  return Error("`" + definition.command + "`: " + why, error.errno_value());
}

kevt_kmod_probe KmodRuntime::request(ProbeHandle probe) const {
  const bpf::KernelEvents::Installed& installed = bpf_->events().at(probe);
  const model::Definition& definition = installed.event.definition;
  const bool at_return = definition.probe_kind == model::ProbeKind::Return;
  kevt_kmod_probe request{.address = installed.event.place_address,
                          .cookie = installed.cookie,
                          .program = installed.program,
                          .kind = at_return ? std::uint32_t{KEVT_KMOD_RETURN} : std::uint32_t{KEVT_KMOD_ENTRY},
                          .maxactive = definition.maxactive.value_or(0),
                          .id = 0,
                          .kept = {}};
  const std::vector<std::uint16_t>& kept = installed.event.entry_arguments;
  static_assert(int{KEVT_KMOD_MAX_KEPT} == int{KEVT_ENTRY_ARGUMENTS});
  KEVT_ASSERT(kept.size() <= KEVT_KMOD_MAX_KEPT);
  for (std::size_t i = 0; i < kept.size(); ++i) request.kept[i] = kept[i];
  return request;
}

Result<void> KmodRuntime::add(std::span<const ProbeHandle> ours) {
  if (ours.empty()) return {};
  std::vector<kevt_kmod_probe> probes;
  for (const ProbeHandle probe : ours) probes.push_back(request(probe));
  std::size_t which = 0;
  if (auto added = device_.add(probes, which); !added)
    return std::unexpected(which < ours.size() ? refused(std::move(added.error()), ours[which])
                                               : std::move(added.error()));
  for (std::size_t i = 0; i < probes.size(); ++i) ids_[ours[i]] = probes[i].id;
  return {};
}

Result<std::vector<ProbeHandle>> KmodRuntime::install(const model::CompiledBatch& batch,
                                                      std::span<const std::uint32_t> ids) {
  for (const model::CompiledEvent& event : batch.events)
    if (others_ == OtherEvents::Refused && event.definition.kind != model::EventKind::Kprobe)
      return std::unexpected(
          Error("`" + event.definition.command + "`: the kmod runtime runs kprobes alone (`p` and `r`)", EOPNOTSUPP));
  auto handles = bpf_->install(batch, ids);
  if (!handles) return handles;
  ids_.resize(bpf_->events().size());
  const Parts parts = split(*handles);
  if (auto added = add(parts.ours); !added) {
    (void)bpf_->remove(*handles);  // nothing of it is armed
    return std::unexpected(std::move(added.error()));
  }
  has_others_ = has_others_ || !parts.others.empty();
  return handles;
}

std::vector<std::uint32_t> KmodRuntime::ids_of(std::span<const ProbeHandle> probes) const {
  std::vector<std::uint32_t> ids;
  for (ProbeHandle probe : probes)
    if (ids_[probe] != kRetired) ids.push_back(ids_[probe]);
  return ids;
}

Result<void> KmodRuntime::arm(std::span<const ProbeHandle> probes) {
  const Parts parts = split(probes);
  KEVT_TRY(bpf_->arm(parts.others));
  if (parts.ours.empty()) return {};
  std::size_t which = 0;
  auto done = device_.enable(ids_of(parts.ours), which);
  if (done) return done;
  KEVT_TRY(bpf_->disarm(parts.others));
  if (which >= parts.ours.size()) return done;
  return std::unexpected(refused(std::move(done.error()), parts.ours[which]));
}

Result<void> KmodRuntime::disarm(std::span<const ProbeHandle> probes) {
  const Parts parts = split(probes);
  if (auto off = bpf_->disarm(parts.others); !off || parts.ours.empty()) return off;
  std::size_t which = 0;
  return device_.disable(ids_of(parts.ours), which);
}

Result<void> KmodRuntime::remove(std::span<const ProbeHandle> probes) {
  const Parts parts = split(probes);
  if (const auto ids = ids_of(parts.ours); !ids.empty()) KEVT_TRY(device_.remove(ids));
  return bpf_->remove(probes);
}

// A probe that the module does not remove stays as it was.
void KmodRuntime::retire(std::span<const ProbeHandle> probes) {
  const Parts parts = split(probes);
  bpf_->retire(parts.others);
  for (const ProbeHandle probe : parts.ours) {
    if (bpf_->events().at(probe).event.hit_tables.empty() || ids_[probe] == kRetired) continue;
    const auto status = device_.status({&ids_[probe], 1});
    if (!status || !device_.remove({&ids_[probe], 1})) continue;
    retired_misses_[probe] = status->front().missed;
    ids_[probe] = kRetired;
    bpf_->retire({&probe, 1});
  }
}

runtime::EventCounts KmodRuntime::counts(ProbeHandle probe) const {
  if (!is_ours(probe)) return bpf_->counts(probe);
  runtime::EventCounts sum = bpf_->events().counts(probe);
  const auto retired = retired_misses_.find(probe);
  std::uint64_t missed = retired == retired_misses_.end() ? 0 : retired->second;
  if (retired == retired_misses_.end())
    if (const auto status = device_.status({&ids_[probe], 1})) missed = status->front().missed;
  sum.missed += missed;
  sum.attempts += missed;
  return sum;
}

runtime::ArmStatus KmodRuntime::arm_status(ProbeHandle probe) const {
  if (!is_ours(probe)) return bpf_->arm_status(probe);
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
