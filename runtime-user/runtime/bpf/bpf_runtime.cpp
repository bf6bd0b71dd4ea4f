// Installing loads the programs; arming opens a perf event for each probe, or a tracepoint's own link. Nothing of it
// outlives us: the kernel takes probes, links and maps away with their file descriptors, however we end.
#include "runtime-user/runtime/bpf/bpf_runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "common/error.h"

namespace kevt::bpf {

using runtime::ProbeHandle;

namespace {

// Each histogram with a filter doubles the paths that the verifier follows behind it.
constexpr std::size_t kHitHistograms = 4;

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

Result<std::unique_ptr<BpfRuntime>> BpfRuntime::create(const KernelSession& session, EntryPrograms entries) {
  auto events = KEVT_TRY(KernelEvents::create(session, entries));
  return std::unique_ptr<BpfRuntime>(new BpfRuntime(std::move(events), session));
}

runtime::Capabilities BpfRuntime::capabilities() const {
  return {.name = "bpf",
          .sees_misses = told_ && !untold_,
          .clocks = {"mono"},
          .code = model::CodeKind::Bpf,
          .hit_histograms = kHitHistograms,
          .numbers_stacks = true};
}

Result<std::vector<ProbeHandle>> BpfRuntime::install(const model::CompiledBatch& batch,
                                                     std::span<const std::uint32_t> ids) {
  auto handles = events_->install(batch, ids);
  if (handles) armed_.resize(events_->size());
  return handles;
}

// The entry program is attached first: in the kernel's list of probes at a place the newest is the first, so the return
// probe has taken the call when its arguments are kept (entry_program.cpp). Arguments that were kept while the probe
// was armed before are not found again, since the cookie is another.
Result<BpfRuntime::Links> BpfRuntime::attach_both(ProbeHandle probe) {
  constexpr unsigned kTimesShift = 32;
  const KernelEvents::Installed& installed = events_->at(probe);
  Links links;
  const std::uint64_t cookie = installed.cookie | std::uint64_t{armed_[probe].times++ & 0x7fffffffu} << kTimesShift;
  if (installed.entry_program >= 0) {
    links.entry = KEVT_TRY(attach(installed, {installed.entry_program, cookie}, model::ProbeKind::Entry));
  }
  links.link = KEVT_TRY(attach(installed, {installed.program, cookie}, installed.event.definition.probe_kind));
  return links;
}

Result<ProbeLink> BpfRuntime::attach(const KernelEvents::Installed& installed, ProbeLink::Program program,
                                     model::ProbeKind point) const {
  const model::Definition& definition = installed.event.definition;
  auto link = [&]() -> Result<ProbeLink> {
    if (const auto* file = std::get_if<model::FilePlace>(&definition.place))
      return ProbeLink::uprobe(program, *file, point);
    if (const auto* traced = std::get_if<model::TracepointPlace>(&definition.place))
      return ProbeLink::raw_tracepoint(program, traced->tracepoint);
    if (const auto* watched = std::get_if<model::WatchPlace>(&definition.place))
      return ProbeLink::watch(program, *watched, installed.event.place_address);
    const auto* event = std::get_if<model::EventPlace>(&definition.place);
    if (!event) return ProbeLink::kprobe(program, installed.event.place_address, point);
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

// At one place the kernel runs the uprobe that was attached last first. Uprobes that are armed together shall run in
// their order in the batch, so they are attached in reverse. Other probes keep their order here.
std::vector<ProbeHandle> BpfRuntime::arming_order(std::span<const ProbeHandle> probes) const {
  const auto in_file = [&](ProbeHandle probe) {
    return std::holds_alternative<model::FilePlace>(events_->at(probe).event.definition.place);
  };
  std::vector<ProbeHandle> order(probes.begin(), probes.end());
  const auto uprobes = std::ranges::stable_partition(order, std::not_fn(in_file));
  std::ranges::reverse(uprobes);
  return order;
}

Result<void> BpfRuntime::arm(std::span<const ProbeHandle> probes) {
  std::vector<std::pair<ProbeHandle, Links>> made;
  for (ProbeHandle probe : arming_order(probes)) {
    if (armed_[probe].links.link) continue;
    auto links = KEVT_TRY(attach_both(probe));
    made.emplace_back(probe, std::move(links));
  }
  for (auto& [probe, links] : made) {
    (links.link->missed() || links.link->accesses() ? told_ : untold_) = true;
    armed_[probe].links = std::move(links);
  }
  return {};
}

Result<void> BpfRuntime::disarm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    Armed& armed = armed_[probe];
    if (!armed.links.link) continue;
    armed.missed += armed.links.link->missed().value_or(0);
    armed.accesses += armed.links.link->accesses().value_or(0);
    armed.links.link.reset();
    armed.links.entry.reset();
  }
  return {};
}

void BpfRuntime::let_go_in_copy() {
  for (ProbeHandle probe = 0; probe < armed_.size(); ++probe) {
    untold_ = untold_ || armed_[probe].links.link;
    (void)disarm({&probe, 1});
  }
  events_->let_go_in_copy();
}

Result<void> BpfRuntime::remove(std::span<const ProbeHandle> probes) {
  KEVT_TRY(disarm(probes));
  for (ProbeHandle probe : probes) events_->remove(probe);
  return {};
}

runtime::EventCounts BpfRuntime::counts(ProbeHandle probe) const {
  runtime::EventCounts sum = events_->counts(probe);
  const Armed& armed = armed_[probe];
  std::uint64_t missed = armed.missed + (armed.links.link ? armed.links.link->missed().value_or(0) : 0);
  if (events_->at(probe).event.definition.kind == model::EventKind::Watchpoint) {
    const std::uint64_t seen = armed.accesses + (armed.links.link ? armed.links.link->accesses().value_or(0) : 0);
    missed = seen - std::min(seen, sum.attempts);  // one may be under way
  }
  sum.missed += missed;
  sum.attempts += missed;
  return sum;
}

runtime::ArmStatus BpfRuntime::arm_status(ProbeHandle probe) const {
  if (!armed_[probe].links.link) return {};
  if (events_->at(probe).event.definition.kind == model::EventKind::Watchpoint)
    return {.state = runtime::ArmState::Breakpoint, .reason = "by a debug register of each CPU"};
  if (events_->at(probe).event.definition.kind == model::EventKind::Tprobe)
    return {.state = runtime::ArmState::Jump, .reason = "called by the tracepoint"};
  return {.state = runtime::ArmState::Breakpoint, .reason = "the kernel does not say how it armed it"};
}

}  // namespace kevt::bpf
