// EventCode where code goes with its library or its target:
//
//   library unloaded ─► defer_gone: its probes wait; their code is former code, retired
//   library loaded   ─► place_deferred: what waits is looked up, installed and armed
//   code given back  ─► settle: its counts are kept, its handles are free
//   target ended     ─► remove_target: the same for all of its code
#include <algorithm>
#include <iterator>
#include <utility>

#include "common/assert.h"
#include "runtime-user/engine/code/event_code.h"

namespace kevt::engine {

Result<void> EventCode::defer_gone(TracedTarget& target) {
  const std::size_t t = table_.index_of(target);
  ProbeHandles gone;
  const auto is_gone = [&](runtime::ProbeHandle handle) {
    return is_placed(handle) && target.runtime().arm_status(handle).may_come;
  };
  for (auto& [event, versions] : table_.events) {
    for (CodeVersion& former : versions.former) {
      if (former.key.empty() || t >= former.handles.size() || std::ranges::none_of(former.handles[t], is_gone))
        continue;
      former.key.clear();  // it is not armed again
      if (former.triggers.empty()) retire_in_targets(former);
    }
    settle(versions, t);
    if (t >= versions.now.handles.size()) continue;
    for (std::size_t i = 0; i < versions.now.handles[t].size(); ++i) {
      runtime::ProbeHandle& handle = versions.now.handles[t][i];
      if (!is_gone(handle)) continue;
      gone.push_back(handle);
      CodeVersion& former = versions.former.emplace_back();  // for its counts
      former.handles.resize(table_.targets.size());
      former.handles[t] = {std::exchange(handle, kDeferred)};
      former.serials = {versions.now.serials[i]};
    }
  }
  if (gone.empty()) return {};
  ++table_.changes;
  auto done = target.runtime().disarm(gone);
  target.runtime().retire(gone);
  return done;
}

// Former code that was given back: its counts are kept here, so that the runtime may use its handles again.
void EventCode::settle(EventVersions& versions, std::size_t target) {
  TracedTarget& where = *table_.targets[target];
  ProbeHandles settled;
  for (CodeVersion& former : versions.former) {
    if (!former.key.empty() || !former.triggers.empty() || target >= former.handles.size()) continue;
    for (std::size_t i = 0; i < former.handles[target].size(); ++i) {
      runtime::ProbeHandle& handle = former.handles[target][i];
      if (!is_placed(handle) || !where.runtime().has_final_counts(handle)) continue;
      versions.gone[{former.serials[i], &where}] += where.runtime().counts(handle);
      settled.push_back(std::exchange(handle, kRefused));
    }
  }
  if (settled.empty()) return;
  (void)where.runtime().remove(settled);
  std::erase_if(versions.former, [](const CodeVersion& former) {
    return former.key.empty() && std::ranges::all_of(former.handles, [](const ProbeHandles& of_target) {
             return placed_of(of_target).empty();
           });
  });
}

std::vector<CodeRefusal> EventCode::place_deferred(std::span<const CodeRequest> requests, TracedTarget& target) {
  std::vector<CodeRefusal> refusals;
  std::vector<DeferredProbes> deferred;
  for (const CodeRequest& request : requests)
    if (installed().is_deferred(request.event->id, target))
      deferred.push_back({&request, &table_.events[request.event->id].now.handles[table_.index_of(target)]});
  if (!deferred.empty()) ++table_.changes;
  const ProbeHandles placed = installer_.install_deferred(deferred, target, refusals);
  // Also if nothing was placed: the library may unwind stacks, which return probes have to provide for.
  if (auto armed = target.runtime().arm(placed); !armed && target.is_alive())
    refusals.push_back({std::move(armed.error()), ""});
  return refusals;
}

void EventCode::remove_target(const TracedTarget& target) {
  ++table_.changes;
  const std::size_t t = table_.index_of(target);
  KEVT_ASSERT(t < table_.targets.size());
  for (auto& entry : table_.events) {
    EventVersions& versions = entry.second;
    versions.for_each([&](CodeVersion& version) {
      if (t >= version.handles.size()) return;
      for (std::size_t i = 0; i < version.handles[t].size(); ++i)
        if (const runtime::ProbeHandle handle = version.handles[t][i]; is_placed(handle))
          versions.gone[{version.serials[i], nullptr}] += table_.targets[t]->runtime().counts(handle);
      version.handles.erase(version.handles.begin() + static_cast<std::ptrdiff_t>(t));
    });
    for (const auto& [whose, counts] : std::exchange(versions.gone, {}))
      versions.gone[{whose.first, whose.second == &target ? nullptr : whose.second}] += counts;
  }
  table_.targets.erase(table_.targets.begin() + static_cast<std::ptrdiff_t>(t));
}

}  // namespace kevt::engine
