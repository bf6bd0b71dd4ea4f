// Arming: what each site must hold for the events that are on, changed while the target stands still.
//
//   arm, disarm, replace ─► rearm ─► guards first, semaphores ─► a detour for each site's set of events ─► patches, at
//   once
#include "common/error.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace kevt::inproc {

using runtime::ProbeHandle;

// The patch that the site needs for those of its events that are armed; nullopt: it is unpatched and stays so. The
// address map keeps the newest detour of a site that is disarmed: children that were forked before have the int3 in
// text of their own.
Result<std::optional<TextPatch>> InprocRuntime::patch_for(ProbePoint& point) {
  DetourSpec spec;
  std::vector<std::uint32_t> key;
  for (ProbeHandle probe : at_site_[point.site.value]) {
    const Installed& one = installed_[probe];
    if (!one.armed) continue;
    key.push_back(probe);
    (one.point == model::ProbeKind::Return ? spec.returns : spec.entries).push_back(one.code);
    spec.needs = std::max(spec.needs, needs_of(one));
  }
  if (point.is_over()) return std::nullopt;
  if (key.empty()) {
    if (point.patch.empty()) return std::nullopt;
    return points_.disarm_patch(point);
  }
  auto made = KEVT_TRY(points_.detour_for(point, key, std::move(spec)));
  KEVT_TRY(lead_to(point, *made));
  const std::uint8_t order = is_guard_site(point.site) ? KEVT_PATCH_LAST : KEVT_PATCH_PROBE;
  KEVT_TRY(memory_.note_patch(point.site, point.live, point.object->loaded.inode, order));
  return points_.arm_patch(point, *made);
}

std::uint32_t InprocRuntime::needs_of(const Installed& event) const {
  std::uint32_t needs = placement_.mapped_with(event.code.extractor);
  for (const Installed::Table& table : event.tables)
    needs = std::max(needs, placement_.mapped_with(hit_tables_.target(table.index)));
  return needs;
}

// From now on an int3 at the point leads to this detour. Children that have the int3, but lack what the detour needs,
// go on in the newest detour whose needs they meet.
Result<void> InprocRuntime::lead_to(ProbePoint& point, const ProbePoint::Made& made) {
  const std::uint32_t before = KEVT_MAP_NEEDS(point.way.value);
  const bool is_left_by_some = point.had_breakpoint && point.way.value && before < made.needs;
  if (is_left_by_some) {
    const RemoteAddr key{KEVT_MAP_OLDER(point.site.value, before)};
    KEVT_TRY(memory_.map_address(key, point.way));
    point.older[before] = point.way;
  }
  KEVT_TRY(memory_.map_address(point.site, made.way()));
  point.way = made.way();
  if (is_left_by_some) forget_older(point, [before](std::uint32_t needs, RemoteAddr) { return needs > before; });
  return {};
}

void InprocRuntime::forget_older(ProbePoint& point, const std::function<bool(std::uint32_t, RemoteAddr)>& which) {
  std::erase_if(point.older, [&](const auto& entry) {
    const auto& [needs, way] = entry;
    if (!which(needs, way)) return false;
    memory_.unmap_address(RemoteAddr{KEVT_MAP_OLDER(point.site.value, needs)});
    return true;
  });
}

Result<void> InprocRuntime::rearm(std::span<const ProbeHandle> probes) {
  const std::size_t guards = guards_.size();
  auto done = change_sites(probes);
  if (done) return done;
  for (std::size_t i = guards; i < guards_.size(); ++i) installed_[guards_[i]].armed = false;
  guards_.resize(guards);
  return done;
}

// Turns jumps into breakpoints before another probe is put inside the instructions that a jump displaces.
Result<void> InprocRuntime::narrow_crowded() {
  std::vector<TextPatch> patches;
  for (ProbePoint* point : points_.to_narrow()) {
    auto patch = KEVT_TRY(patch_for(*point));
    if (patch) patches.push_back(std::move(*patch));
  }
  note_gone(take_out_gone(tracee_, patches));
  return apply_patches(tracee_, signals_, patches);
}

Result<void> InprocRuntime::change_sites(std::span<const ProbeHandle> probes) {
  const auto held = KEVT_TRY(hold());
  std::vector<ProbeHandle> changed(probes.begin(), probes.end());
  KEVT_TRY(guard_unwinders(changed));
  KEVT_TRY(set_semaphores());
  std::set<RemoteAddr> sites;
  for (ProbeHandle probe : changed) {
    find_versions(probe);
    const auto its = sites_of(probe);
    sites.insert(its.begin(), its.end());
  }
  KEVT_TRY(narrow_crowded());
  std::vector<TextPatch> patches;
  for (RemoteAddr site : sites) {
    auto point = KEVT_TRY(points_.at(site));
    auto patch = KEVT_TRY(patch_for(*point));
    if (patch) patches.push_back(std::move(*patch));
  }
  note_gone(take_out_gone(tracee_, patches));
  // We may die between two patches, so guards come first: no return address may be ours while an unwinder is unguarded.
  std::ranges::stable_partition(patches, [this](const TextPatch& patch) { return is_guard_site(patch.site); });
  return apply_patches(tracee_, signals_, patches);
}

// Called with the target held, each time events are armed or disarmed. It comes before the text is changed: where a
// semaphore cannot be raised, nothing is armed.
Result<void> InprocRuntime::set_semaphores() {
  std::map<RemoteAddr, std::uint32_t> wanted;
  for (const Installed& event : installed_)
    if (event.armed && event.semaphore.value) ++wanted[event.semaphore];
  return semaphores_.set(tracee_, placement_.agent().priv, wanted);
}

Result<void> InprocRuntime::arm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = true;
    set_gates(*installed_[probe].block.local, ~0u);
  }
  auto done = rearm(probes);
  if (done) return done;
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = false;
    set_gates(*installed_[probe].block.local, 0u);
  }
  return done;
}

Result<void> InprocRuntime::use_jumps(bool wanted) {
  if (points_.uses_jumps() == wanted) return {};
  points_.use_jumps(wanted);
  std::vector<ProbeHandle> all;
  for (std::size_t i = 0; i < installed_.size(); ++i)
    if (installed_[i].armed && !installed_[i].is_guard) all.push_back(static_cast<ProbeHandle>(i));
  auto done = change_sites(all);
  if (!done) points_.use_jumps(!wanted);
  return done;
}

Result<void> InprocRuntime::disarm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = false;
    if (installed_[probe].block.local) set_gates(*installed_[probe].block.local, 0u);
  }
  return rearm(probes);
}

// One stop changes all sites. Events that are disarmed keep their gates open until then.
Result<void> InprocRuntime::replace(std::span<const ProbeHandle> armed, std::span<const ProbeHandle> disarmed) {
  const auto set = [&](std::span<const ProbeHandle> probes, bool on) {
    for (ProbeHandle probe : probes) installed_[probe].armed = on;
  };
  set(armed, true);
  set(disarmed, false);
  for (ProbeHandle probe : armed) set_gates(*installed_[probe].block.local, ~0u);
  std::vector<ProbeHandle> changed(armed.begin(), armed.end());
  changed.insert(changed.end(), disarmed.begin(), disarmed.end());
  auto done = rearm(changed);
  if (!done) {
    set(armed, false);
    set(disarmed, true);
  }
  for (ProbeHandle probe : done ? disarmed : armed) set_gates(*installed_[probe].block.local, 0u);
  return done;
}

}  // namespace kevt::inproc
