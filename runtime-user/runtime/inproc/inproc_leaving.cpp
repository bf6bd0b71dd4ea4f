// How a runtime leaves its target and the children that the target has forked: detach, or that there is nothing left to
// leave. departure.h does the work in one process.
#include <algorithm>
#include <cerrno>

#include "runtime-user/runtime/inproc/forked_children.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

// A call whose return address was given back counts as missed.
Departure::Missed InprocRuntime::count_missed_in(const Tracee& tracee) const {
  return [this, &tracee](const ThreadNote& thread, RemoteAddr event) {
    const auto it = std::ranges::find(installed_, event, [](const Installed& one) { return one.block.target; });
    if (it == installed_.end()) return;
    const RemoteAddr at = memory_.missed_counter(it->block.row, RemoteAddr{thread.counts});
    if (!at.value) return;
    std::uint64_t missed = 0;
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(&missed), sizeof missed);
    if (!tracee.read(at, bytes)) return;
    ++missed;
    (void)tracee.write(at, bytes);
  };
}

Result<Leftover> InprocRuntime::detach() {
  if (left_) return *left_;
  watch_.end();
  follower_.end();
  std::vector<ProbeHandle> all;
  for (std::size_t i = 0; i < installed_.size(); ++i)
    if (installed_[i].armed && !installed_[i].is_guard) all.push_back(static_cast<ProbeHandle>(i));
  auto held = hold();
  if (replaced_) return *(left_ = Leftover::Unseen);  // nothing of ours is left to take away
  if (!held) return std::unexpected(std::move(held.error()));
  if (!placement_.agent().base.value) {  // it never got that far
    if (auto gone = placement_.take_away(); !gone) return std::unexpected(std::move(gone.error()));
    return *(left_ = Leftover::Nothing);
  }
  if (auto disarmed = disarm(all); !disarmed) return std::unexpected(std::move(disarmed.error()));
  std::vector<TextPatch> last = hook_undo_;
  for (auto& [site, point] : points_.all())
    if (!point.patch.empty()) last.push_back(ProbePoints::disarm_patch(point));
  auto left = Departure(tracee_, placement_, signals_, arena_)
                  .leave(last, memory_.tables().check_offset, count_missed_in(tracee_));
  if (left) left_ = *left;
  return left;
}

// What is patched in the child is seen in its text: it was forked at some moment between two changes.
Result<Leftover> InprocRuntime::leave_child(pid_t pid) {
  auto child = Tracee::attach(pid);
  if (!child) return Leftover::Unseen;  // it ended meanwhile, or somebody else traces it
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_tables, self);
  if (!child->read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) || self != memory_.target().value)
    return Leftover::Unseen;
  Placement placement(*child, memory_, arena_);
  placement.adopt(placement_);
  SignalHandover signals(*child, placement);
  signals.adopt();
  std::vector<TextPatch> first, last = hook_undo_;
  for (const auto& [site, point] : points_.all()) {
    std::vector<std::uint8_t> now(point.live.size());
    if (!child->read(site, now)) continue;
    if (auto patch = ProbePoints::restoring(point, now))
      (is_guard_site(site) ? last : first).push_back(*std::move(patch));
  }
  if (auto disarmed = apply_patches(*child, signals, first); !disarmed)
    return std::unexpected(std::move(disarmed.error()));
  return Departure(*child, placement, signals, arena_)
      .leave(last, memory_.tables().check_offset, count_missed_in(*child));
}

Result<Leftover> InprocRuntime::leave_children() {
  Leftover worst = Leftover::Nothing;
  for (const Installed& one : installed_) set_gates(*one.block.local, 0u);
  for (pid_t pid : processes_sharing(memory_.file(MapPiece::From::Session))) {
    if (pid == tracee_.pid()) continue;
    auto left = leave_child(pid);
    if (!left && left.error().errno_value() == ESRCH) continue;  // it ended meanwhile
    if (!left) return left;
    if (*left != Leftover::Nothing && *left != Leftover::Unseen) worst = *left;
  }
  return worst;
}

// /proc/PID/mem stays with the memory it was opened on: after exec nothing can be read through it.
bool InprocRuntime::was_replaced() {
  if (replaced_ || left_ || tracee_.is_stopped()) return replaced_;
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_tables, self);
  if (tracee_.read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) && self == memory_.target().value)
    return false;
  replaced_ = !poll_exit();
  return replaced_;
}

void InprocRuntime::give_up() {
  watch_.end();
  replaced_ = true;
  left_ = Leftover::Unseen;
  tracee_.give_up();
}

}  // namespace kevt::inproc
