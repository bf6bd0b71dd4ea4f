// How a runtime leaves its target and the target's forked children, and how it sees that there is nothing left to
// leave. detach.h does the work in one process.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "runtime-user/runtime/inproc/process/fd_passing.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"

namespace kevt::inproc {

// A call whose return address was given back counts as missed.
Detacher::Missed InprocRuntime::count_missed_in(const Tracee& tracee) const {
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

void InprocRuntime::shut_gates() {
  for (Installed& one : installed_) {
    if (one.block.local) set_gates(*one.block.local, 0u);
    if (!one.is_guard) one.armed = false;
  }
}

Result<DetachResult> InprocRuntime::detach() {
  auto left = leave();
  if (!left && !poll_exit()) note_failed_departure();
  return left;
}

Result<DetachResult> InprocRuntime::leave() {
  if (left_) return *left_;
  watch_.end();
  follower_.end();
  auto held = hold();
  if (replaced_) return *(left_ = DetachResult::Unseen);  // nothing of ours is left to take away
  if (!held) return std::unexpected(std::move(held.error()));
  if (mapper_.sending()) KEVT_TRY(close_left_descriptors(mapper_));
  note_all_gone();
  shut_gates();
  if (!placement_.agent().base.value) {  // it never got that far
    KEVT_TRY(mapper_.take_away());
    return *(left_ = DetachResult::Nothing);
  }
  // What is gone is in forked children alone. Where a probe in code of a JIT compiler is off, the memory may be
  // anything else by now.
  std::vector<kevt_patch> ours;
  std::ranges::copy_if(memory_.patches(), std::back_inserter(ours), [this](const kevt_patch& note) {
    const auto point = points_.all().find(RemoteAddr{note.site});
    const bool is_jit = point != points_.all().end() && point->second.object->is_jit();
    return !note.gone && (!is_jit || !point->second.patch.empty());
  });
  auto left = Detacher(mapper_, signals_).leave(ours, memory_.tables().check_offset, count_missed_in(tracee_));
  if (left) left_ = *left;
  return left;
}

// The child was forked at some moment between two changes, so only its own text tells what is patched.
Result<DetachResult> InprocRuntime::leave_child(pid_t pid) {
  auto child = Tracee::attach(pid);
  if (!child) return DetachResult::Unseen;  // it ended meanwhile, or somebody else traces it
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_tables, self);
  if (!child->read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) || self != memory_.target().value)
    return DetachResult::Unseen;
  auto mapper = KEVT_TRY(RemoteMapper::of_session(*child, memory_.tables()));
  SignalHandover signals(mapper);
  signals.adopt();
  return Detacher(mapper, signals).leave(memory_.patches(), memory_.tables().check_offset, count_missed_in(*child));
}

Result<DetachResult> InprocRuntime::leave_children() {
  DetachResult worst = DetachResult::Nothing;
  shut_gates();
  for (pid_t pid : processes_sharing(memory_.file(MapPiece::From::Session), target_began_)) {
    if (pid == tracee_.pid()) continue;
    auto left = leave_child(pid);
    if (!left && left.error().errno_value() == ESRCH) continue;  // it ended meanwhile
    if (!left) {
      note_failed_departure();
      return left;
    }
    if (*left != DetachResult::Nothing && *left != DetachResult::Unseen) worst = *left;
  }
  return worst;
}

// /proc/PID/mem stays with the memory it was opened on: after exec nothing can be read through it.
namespace {

// A process that is ending gives its memory up a while before its end can be seen.
bool has_memory(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  return maps.peek() != std::ifstream::traits_type::eof();
}

}  // namespace

bool InprocRuntime::was_replaced() {
  if (follower_.is_awaiting()) return false;
  if (replaced_ || left_ || tracee_.is_stopped()) return replaced_;
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_tables, self);
  if (tracee_.read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) && self == memory_.target().value)
    return false;
  replaced_ = !poll_exit() && has_memory(pid());
  return replaced_;
}

bool InprocRuntime::may_be_hit(const SharedSessions& sessions) {
  if (!poll_exit() || follower_.is_awaiting()) return true;
  return sessions.may_be_shared(memory_.file(MapPiece::From::Session), target_began_);
}

void InprocRuntime::give_up() {
  watch_.end();
  replaced_ = true;
  left_ = DetachResult::Unseen;
  tracee_.give_up();
}

}  // namespace kevt::inproc
