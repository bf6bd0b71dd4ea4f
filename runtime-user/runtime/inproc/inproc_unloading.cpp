// Libraries that the target unloads, and may load again.
//
//   dlclose ─► the linker's report ─► look_for_unloaded: points of that library are gone ─► the engine lets their
//              events wait, as for a library that has not come yet
//   dlopen  ─► the linker's report ─► the engine installs them anew; a point at the same place is planned anew
//
// The library that comes may be another one by then, at the same place. Children that were forked before have the old
// one, with our patches: the patches stay noted. Where the code differs, the point is not used while there are
// children.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "common/error.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"

namespace kevt::inproc {

Result<bool> InprocRuntime::may_lose_code() {
  if (watch_.has_begun()) return false;
  std::vector<RemoteAddr> armed;
  for (const Installed& event : installed_)
    if (event.armed && !event.is_guard) armed.push_back(event.place);
  if (armed.empty()) return false;
  return points_.may_be_unloaded(armed);
}

Result<void> InprocRuntime::look_for_unloaded() {
  const auto found = KEVT_TRY(points_.look_for_unloaded());
  note_gone(found.unarmed);
  if (!found.is_any_armed) return {};
  const auto held = KEVT_TRY(hold());
  compare_armed();
  return {};
}

// A guard is armed again when its unwinder has come again.
void InprocRuntime::note_gone(std::span<const RemoteAddr> sites) {
  for (const RemoteAddr site : sites) {
    points_.mark_gone(site);
    memory_.note_gone_patch(site);
    for (const runtime::ProbeHandle guard : guards_)
      if (installed_[guard].place == site) installed_[guard].armed = false;
  }
}

void InprocRuntime::note_all_gone() {
  if (const auto found = points_.look_for_unloaded()) note_gone(found->unarmed);
  compare_armed();
}

// Compares all that is armed with what stands there. Where a file is not mapped any more, what follows an int3 has to
// be as it was, too: other memory may hold that byte.
void InprocRuntime::compare_armed() {
  constexpr std::size_t kCompared = 16;
  std::vector<TextPatch> patches;
  for (auto& [site, point] : points_.all()) {
    if (point.patch.empty()) continue;
    std::vector<std::uint8_t> expected = points_.expected_at(point);
    if (!point.object->is_mapped && expected.size() == 1) {
      const auto next = points_.all().upper_bound(site);
      const std::size_t room = next == points_.all().end() ? kCompared : static_cast<std::size_t>(next->first - site);
      const auto own = point.object->image->bytes_at(ImageAddr{site.value - point.object->bias}, kCompared);
      for (std::size_t i = 1; i < std::min(room, own.size()); ++i) expected.push_back(own[i]);
    }
    patches.push_back({.site = site, .bytes = {}, .detour = {}, .moved = {}, .covered = 0, .expected = expected});
  }
  const std::vector<RemoteAddr> gone = take_out_gone(tracee_, patches);
  note_gone(gone);
  for (const RemoteAddr site : gone) note_gone(points_.unarmed_beside(site));
}

// The point for new code, planned for what stands there now.
Result<ProbePoint*> InprocRuntime::point_anew(RemoteAddr site, StoppedText& text) {
  auto point = KEVT_TRY(points_.at_anew(site, text));
  if (point->is_other && !has_children_)
    has_children_ = has_children_sharing(memory_.file(MapPiece::From::Session), target_began_, tracee_.pid());
  if (point->is_other && *has_children_)
    return std::unexpected(
        Error(fmt::format("{:#x} cannot be probed: forked children of the process run other code there", site.value)));
  point->is_other = false;
  return point;
}

}  // namespace kevt::inproc
