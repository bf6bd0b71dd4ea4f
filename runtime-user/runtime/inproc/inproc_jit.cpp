// Code of a JIT compiler: one event stands at every place to which its function was compiled.
//
// V8 has a function up to three times: for a start without optimization, optimized, and again when a guess was wrong;
// all of them run. The perf map names them alike but for their kind (target::jit_identity()). The event's own place is
// the one that its definition found; the others come and go at each look. When its own place is gone, the engine places
// it anew.
#include <algorithm>
#include <iterator>
#include <set>

#include "common/error.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

std::vector<RemoteAddr> InprocRuntime::sites_of(ProbeHandle probe) const {
  std::vector<RemoteAddr> sites = installed_[probe].versions;
  sites.push_back(installed_[probe].place);
  return sites;
}

// Of an event that is armed. One that cannot be probed, since it changes just now, is left out: the next look finds it.
void InprocRuntime::find_versions(ProbeHandle probe) {
  Installed& event = installed_[probe];
  const auto home = points_.all().find(event.place);
  const bool is_jit = home != points_.all().end() && home->second.object->is_jit();
  if (!is_jit || !event.armed || event.is_dead) return;
  for (const RemoteAddr site : points_.versions_of(event.place)) {
    if (site == event.place || std::ranges::find(event.versions, site) != event.versions.end()) continue;
    StoppedText text(tracee_);
    if (!points_.at_anew(site, text)) continue;
    event.versions.push_back(site);
    at_site_[site.value].push_back(probe);
  }
}

Result<void> InprocRuntime::look_at_jit() {
  stacks_.note_jit_code();
  if (!points_.has_jit()) return {};
  const auto held = KEVT_TRY(hold());
  note_all_gone();
  KEVT_TRY(points_.look_at_jit());
  std::vector<ProbeHandle> changed;
  std::vector<TextPatch> patches;
  for (ProbeHandle probe = 0; probe < installed_.size(); ++probe) {
    Installed& event = installed_[probe];
    if (!event.armed || event.is_guard) continue;
    std::set<RemoteAddr> left;
    std::erase_if(event.versions, [&](RemoteAddr site) {
      const ProbePoint& point = points_.all().at(site);
      if (!point.gone && !point.renamed) return false;
      std::erase(at_site_[site.value], probe);
      left.insert(site);
      return true;
    });
    for (const RemoteAddr site : left)
      if (auto patch = KEVT_TRY(patch_for(points_.all().at(site)))) patches.push_back(std::move(*patch));
    const auto home = points_.all().find(event.place);
    if (home != points_.all().end() && !home->second.gone && !home->second.renamed) changed.push_back(probe);
  }
  note_gone(take_out_gone(tracee_, patches));
  KEVT_TRY(apply_patches(tracee_, signals_, patches));
  return changed.empty() ? Result<void>() : change_sites(changed);
}

}  // namespace kevt::inproc
