// Guards: code of the agent in front of functions that concern the machinery itself. They are probes like others, but
// record nothing: in front of unwinders (unwinders.h) and of the dynamic linker's report (library_watch.h).
#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"
#include "runtime-user/runtime/inproc/code/unwinders.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

namespace {
constexpr std::uint64_t kGuardCode = 64;  // bytes before a guard's event block
}

// A guard's code is a jump to the agent's function, which may lie further away than a call from a detour reaches.
Result<RemoteAddr> InprocRuntime::place_guard(const ProbedObject& object, std::uint32_t function) {
  auto at = KEVT_TRY(placement_.allocate(object.loaded.start(), object.loaded.end(), kGuardCode + sizeof(kevt_event)));
  std::vector<std::uint8_t> code = {0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // jmp *0(%rip), its operand
  const RemoteAddr to = placement_.agent().base + function;
  std::memcpy(code.data() + 6, &to.value, sizeof to.value);
  arena_.write(at.at, code);
  return at.at;
}

Result<InprocRuntime::Installed> InprocRuntime::install_guard(RemoteAddr place, std::uint32_t function) {
  StoppedText text(tracee_);
  KEVT_TRY(point_anew(place, text));
  auto object = KEVT_TRY(points_.object_at(place));
  auto code = KEVT_TRY(place_guard(*object, function));
  auto block = KEVT_TRY(add_event(code + kGuardCode, 0, 1));
  return Installed{.place = place, .code = {.extractor = code}, .block = block, .is_guard = true};
}

// Installs guards in front of the unwinders that have none. The guard of a library that has come again at its place is
// used again. Returns those that are to be armed.
Result<std::vector<ProbeHandle>> InprocRuntime::install_guards() {
  std::vector<ProbeHandle> made, again;
  StoppedText text(tracee_);
  auto unwinders = KEVT_TRY(find_unwinders(points_));
  for (RemoteAddr place : unwinders) {
    const auto known = std::ranges::find(guards_, place, [this](ProbeHandle guard) { return installed_[guard].place; });
    if (known != guards_.end()) {
      const auto point = points_.all().find(place);
      if (point == points_.all().end() || !point->second.patch.empty()) continue;
      if (!points_.at_anew(place, text)) continue;  // nor does find_unwinders() tell of what cannot be probed
      auto anew = point_anew(place, text);
      if (!anew && has_returns()) return std::unexpected(std::move(anew.error()));
      if (anew) again.push_back(*known);
    } else if (!is_guard_site(place)) {
      auto guard = KEVT_TRY(install_guard(place, agent_table().restore_returns));
      made.push_back(keep(std::move(guard)));
    }
  }
  guards_.insert(guards_.end(), made.begin(), made.end());
  made.insert(made.end(), again.begin(), again.end());
  return made;
}

bool InprocRuntime::has_returns() const {
  return std::ranges::any_of(installed_,
                             [](const Installed& one) { return one.armed && one.point == model::ProbeKind::Return; });
}

// From the first return probe to the end of tracing, unwinders must find the program's own return addresses: a call may
// last longer than the probe it began under. A library that is loaded later may bring another unwinder.
Result<void> InprocRuntime::guard_unwinders(std::vector<ProbeHandle>& changed) {
  guards_unwinders_ = guards_unwinders_ || has_returns();
  if (!guards_unwinders_) return {};
  auto made = KEVT_TRY(install_guards());
  for (ProbeHandle guard : made) installed_[guard].armed = true;
  changed.insert(changed.end(), made.begin(), made.end());
  return {};
}

bool InprocRuntime::is_guard_site(RemoteAddr site) const {
  if (reporter_ && installed_[*reporter_].place == site) return true;
  return std::ranges::any_of(guards_, [&](ProbeHandle guard) { return installed_[guard].place == site; });
}

Result<bool> InprocRuntime::watch_libraries() {
  if (reporter_) return true;
  const auto held = KEVT_TRY(hold());
  auto report = KEVT_TRY(find_library_report(points_));
  if (!report) return false;
  auto guard = KEVT_TRY(install_guard(report->function, agent_table().libraries_changed));
  reporter_ = keep(std::move(guard));
  installed_[*reporter_].armed = true;
  KEVT_TRY(change_sites(std::span(&*reporter_, 1)));
  watch_.begin(*report);
  return true;
}

}  // namespace kevt::inproc
