// Installing loads the programs; arming opens a perf event for each probe, or a tracepoint's own link. Nothing of it
// outlives us: the kernel takes probes, links and maps away with their file descriptors, however we end.
#include "runtime-user/runtime/bpf/bpf_runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kevt::bpf {

using runtime::ProbeHandle;

namespace {

std::string why_refused(const model::Definition& definition, int errno_value) {
  const bool of_tracepoint = definition.kind == model::EventKind::Tprobe;
  const bool watches = definition.kind == model::EventKind::Watchpoint;
  switch (errno_value) {
    case EILSEQ:
      return "there is no instruction at this address";
    case EINVAL:
      return watches         ? "no CPU of this machine can watch that"
             : of_tracepoint ? "the tracepoint has fewer arguments"
                             : "the kernel allows no probe here";
    case ENOSPC:
    case EBUSY:
      return watches ? "the debug registers of the CPUs are taken" : std::strerror(errno_value);
    case ENOENT:
      return "there is no such place";
    default:
      return std::strerror(errno_value);
  }
}

}  // namespace

Result<std::unique_ptr<BpfRuntime>> BpfRuntime::create(const KernelSession& session) {
  auto events = KernelEvents::create(session);
  if (!events) return std::unexpected(std::move(events.error()));
  return std::unique_ptr<BpfRuntime>(new BpfRuntime(std::move(*events), session));
}

runtime::Capabilities BpfRuntime::capabilities() const {
  return {.name = "bpf", .sees_misses = told_ && !untold_, .clocks = {"mono"}, .code = model::CodeKind::Bpf};
}

Result<std::vector<ProbeHandle>> BpfRuntime::install(const model::CompiledBatch& batch,
                                                     std::span<const std::uint32_t> ids) {
  auto handles = events_->install(batch, ids);
  if (handles) armed_.resize(events_->size());
  return handles;
}

Result<ProbeLink> BpfRuntime::attach(ProbeHandle probe) const {
  const KernelEvents::Installed& installed = events_->at(probe);
  const ProbeLink::Program program{.fd = installed.program, .cookie = installed.cookie};
  const model::Definition& definition = installed.event.definition;
  auto link = [&]() -> Result<ProbeLink> {
    if (const auto* file = std::get_if<model::FilePlace>(&definition.place))
      return ProbeLink::uprobe(program, *file, definition.point);
    if (const auto* point = std::get_if<model::TracepointPlace>(&definition.place))
      return ProbeLink::raw_tracepoint(program, point->tracepoint);
    if (const auto* watched = std::get_if<model::WatchPlace>(&definition.place))
      return ProbeLink::watch(program, *watched, installed.event.place_address);
    const auto* event = std::get_if<model::EventPlace>(&definition.place);
    if (!event) return ProbeLink::kprobe(program, installed.event.place_address, definition.point);
    const auto id = event_id_ ? event_id_(*event) : std::nullopt;
    return id ? ProbeLink::tracepoint(program, *id)
              : std::unexpected(Error("no event of the kernel's own", EOPNOTSUPP));
  }();
  if (link) return link;
  const int reason = link.error().errno_value();
  if (reason == EPERM || reason == EACCES || reason == ENODEV) return link;
  return std::unexpected(
      Error("`" + definition.command + "`: " + why_refused(definition, reason), reason).while_doing("arming it"));
}

Result<void> BpfRuntime::arm(std::span<const ProbeHandle> probes) {
  std::vector<std::pair<ProbeHandle, ProbeLink>> made;
  for (ProbeHandle probe : probes) {
    if (armed_[probe].link) continue;
    auto link = attach(probe);
    if (!link) return std::unexpected(std::move(link.error()));
    made.emplace_back(probe, std::move(*link));
  }
  for (auto& [probe, link] : made) {
    (link.missed() || link.accesses() ? told_ : untold_) = true;
    armed_[probe].link = std::move(link);
  }
  return {};
}

Result<void> BpfRuntime::disarm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    Armed& armed = armed_[probe];
    if (!armed.link) continue;
    armed.missed += armed.link->missed().value_or(0);
    armed.accesses += armed.link->accesses().value_or(0);
    armed.link.reset();
  }
  return {};
}

Result<void> BpfRuntime::remove(std::span<const ProbeHandle> probes) {
  if (auto off = disarm(probes); !off) return off;
  for (ProbeHandle probe : probes) events_->remove(probe);
  return {};
}

runtime::EventCounts BpfRuntime::counts(ProbeHandle probe) const {
  runtime::EventCounts sum = events_->counts(probe);
  const Armed& armed = armed_[probe];
  std::uint64_t missed = armed.missed + (armed.link ? armed.link->missed().value_or(0) : 0);
  if (events_->at(probe).event.definition.kind == model::EventKind::Watchpoint) {
    const std::uint64_t seen = armed.accesses + (armed.link ? armed.link->accesses().value_or(0) : 0);
    missed = seen - std::min(seen, sum.attempts);  // one may be under way
  }
  sum.missed += missed;
  sum.attempts += missed;
  return sum;
}

runtime::ArmStatus BpfRuntime::arm_status(ProbeHandle probe) const {
  if (!armed_[probe].link) return {};
  if (events_->at(probe).event.definition.kind == model::EventKind::Watchpoint)
    return {.state = runtime::ArmState::Breakpoint, .reason = "by a debug register of each CPU"};
  if (events_->at(probe).event.definition.kind == model::EventKind::Tprobe)
    return {.state = runtime::ArmState::Jump, .reason = "called by the tracepoint"};
  return {.state = runtime::ArmState::Breakpoint, .reason = "the kernel does not say how it armed it"};
}

}  // namespace kevt::bpf
