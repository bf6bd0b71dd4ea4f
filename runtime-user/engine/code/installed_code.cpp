#include "runtime-user/engine/code/installed_code.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

namespace kevt::engine {

namespace {

// Calls use(index of the target, serial, handle) for all code that the event has had.
template <class Use>
void for_each_placed(const EventVersions& versions, const Use& use) {
  versions.for_each([&](const CodeVersion& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      for (std::size_t i = 0; i < version.handles[t].size(); ++i)
        if (is_placed(version.handles[t][i])) use(t, version.serials[i], version.handles[t][i]);
  });
}

}  // namespace

Result<void> InstalledCode::prepare_stacks() const {
  for (TracedTarget* target : table_.targets)
    if (target->is_alive()) KEVT_TRY(target->prepare_stacks());
  return {};
}

std::vector<TracedTarget*> InstalledCode::targets_of(const TracedEvent& event) const {
  std::vector<TracedTarget*> targets;
  if (event.is_made_by_reader()) return targets;
  for (TracedTarget* target : table_.targets) {
    const auto takes = [&](const EventProbe& probe) { return target->takes(probe.written.command); };
    if (event.is_static() ? target->static_events() != nullptr : std::ranges::any_of(event.probes, takes))
      targets.push_back(target);
  }
  return targets;
}

bool InstalledCode::sees_misses(const TracedEvent& event) const {
  return std::ranges::all_of(targets_of(event),
                             [](TracedTarget* target) { return target->runtime().capabilities().sees_misses; });
}

runtime::EventCounts InstalledCode::counts(std::uint32_t event) const {
  runtime::EventCounts sum;
  if (const StaticEvents* statics = static_events()) sum += statics->counts(event);
  const EventVersions* const versions = table_.find(event);
  if (!versions) return sum;
  for_each_placed(*versions, [&](std::size_t t, std::uint64_t, runtime::ProbeHandle handle) {
    sum += table_.targets[t]->runtime().counts(handle);
  });
  for (const auto& [whose, counts] : versions->gone) sum += counts;
  return sum;
}

runtime::EventCounts InstalledCode::counts(std::uint32_t event, std::uint64_t serial) const {
  runtime::EventCounts sum;
  const EventVersions* const versions = table_.find(event);
  if (!versions) return sum;
  for_each_placed(*versions, [&](std::size_t t, std::uint64_t of, runtime::ProbeHandle handle) {
    if (of == serial) sum += table_.targets[t]->runtime().counts(handle);
  });
  for (const auto& [whose, counts] : versions->gone)
    if (whose.first == serial) sum += counts;
  return sum;
}

runtime::EventCounts InstalledCode::counts(std::uint32_t event, const TracedTarget& target) const {
  runtime::EventCounts sum;
  const EventVersions* const versions = table_.find(event);
  if (!versions) return sum;
  const std::size_t wanted = table_.index_of(target);
  for_each_placed(*versions, [&](std::size_t t, std::uint64_t, runtime::ProbeHandle handle) {
    if (t == wanted) sum += table_.targets[t]->runtime().counts(handle);
  });
  for (const auto& [whose, counts] : versions->gone)
    if (whose.second == &target) sum += counts;
  return sum;
}

void InstalledCode::take_hit_counts(std::uint32_t event,
                                    const std::function<void(TracedTarget&, const runtime::HitCount&)>& use) {
  const EventVersions* const versions = table_.find(event);
  if (!versions) return;
  for_each_placed(*versions, [&](std::size_t t, std::uint64_t, runtime::ProbeHandle handle) {
    TracedTarget& target = *table_.targets[t];
    target.runtime().take_hit_counts(handle, [&](const runtime::HitCount& count) { use(target, count); });
  });
}

bool InstalledCode::always_asks(std::uint32_t event, std::string_view filter_text) const {
  const EventVersions* const versions = table_.find(event);
  if (!versions || !versions->former.empty()) return false;
  const std::string& key = versions->now.key;
  return key.starts_with(filter_text) && key.size() > filter_text.size() && key[filter_text.size()] == '\n';
}

std::optional<runtime::ArmStatus> InstalledCode::arm_status(std::uint32_t event, std::uint64_t serial,
                                                            const TracedTarget& target) const {
  const EventVersions* const versions = table_.find(event);
  if (!versions) return std::nullopt;
  const std::size_t t = table_.index_of(target);
  const runtime::ProbeHandle handle = versions->now.handle_of(serial, t);
  if (handle == kDeferred) return gone_status(*versions, serial, t);
  if (!is_placed(handle)) return std::nullopt;
  return table_.targets[t]->runtime().arm_status(handle);
}

// Of a probe that waits: what became of the code that it had last; nullopt: it had none. Its place may be another
// probe's by now.
std::optional<runtime::ArmStatus> InstalledCode::gone_status(const EventVersions& versions, std::uint64_t serial,
                                                             std::size_t target) const {
  for (const CodeVersion& former : std::views::reverse(versions.former)) {
    const runtime::ProbeHandle handle = former.handle_of(serial, target);
    if (!is_placed(handle)) continue;
    runtime::ArmStatus status = table_.targets[target]->runtime().arm_status(handle);
    if (status.state != runtime::ArmState::Gone) status = {runtime::ArmState::Gone, "its library was unloaded"};
    return status;
  }
  if (!versions.gone.contains({serial, table_.targets[target]})) return std::nullopt;
  return runtime::ArmStatus{runtime::ArmState::Gone, "its library was unloaded"};
}

std::vector<runtime::ArmStatus> InstalledCode::arm_status(std::uint32_t event, std::size_t probe) const {
  std::vector<runtime::ArmStatus> states;
  const EventVersions* const versions = table_.find(event);
  for (std::size_t t = 0; t < table_.targets.size(); ++t) {
    const bool is_known = versions && probe < versions->now.serials.size();
    const runtime::ProbeHandle handle = is_known ? versions->now.handle_of(versions->now.serials[probe], t) : kRefused;
    if (handle == kDeferred)
      states.push_back(gone_status(*versions, versions->now.serials[probe], t)
                           .value_or(runtime::ArmStatus{runtime::ArmState::Deferred, "its library is not loaded"}));
    else
      states.push_back(is_placed(handle) ? table_.targets[t]->runtime().arm_status(handle) : runtime::ArmStatus{});
  }
  return states;
}

bool InstalledCode::is_deferred(std::uint32_t event, const TracedTarget& target) const {
  const EventVersions* const versions = table_.find(event);
  if (!versions || !versions->armed) return false;
  const std::size_t t = table_.index_of(target);
  const auto& handles = versions->now.handles;
  return t < handles.size() && std::ranges::find(handles[t], kDeferred) != handles[t].end();
}

bool InstalledCode::is_deferred(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const {
  const EventVersions* const versions = table_.find(event);
  return versions && versions->now.handle_of(serial, table_.index_of(target)) == kDeferred;
}

bool InstalledCode::was_placed(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const {
  const EventVersions* const versions = table_.find(event);
  if (!versions) return false;
  const std::size_t wanted = table_.index_of(target);
  bool was_placed = versions->gone.contains({serial, &target});
  for_each_placed(*versions, [&](std::size_t t, std::uint64_t of, runtime::ProbeHandle) {
    was_placed = was_placed || (t == wanted && of == serial);
  });
  return was_placed;
}

std::vector<const EventProbe*> InstalledCode::waiting(const TracedEvent& event) const {
  std::vector<const EventProbe*> waiting;
  const EventVersions* const versions = table_.find(event.id);
  if (!versions || !versions->armed) return waiting;
  for (const EventProbe& probe : event.probes) {
    bool was_placed =
        std::ranges::any_of(versions->gone, [&](const auto& one) { return one.first.first == probe.serial; });
    for_each_placed(*versions, [&](std::size_t, std::uint64_t serial, runtime::ProbeHandle) {
      was_placed = was_placed || serial == probe.serial;
    });
    const auto is_deferred_in = [&](TracedTarget* target) { return is_deferred(event.id, probe.serial, *target); };
    if (!was_placed && std::ranges::any_of(table_.targets, is_deferred_in)) waiting.push_back(&probe);
  }
  return waiting;
}

}  // namespace kevt::engine
