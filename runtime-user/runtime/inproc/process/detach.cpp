// The order is what makes it safe:
//
//   probes' own bytes back     nobody new comes in
//   wait until quiet           no thread stands in our code, nor will a signal handler return there
//   return addresses           back in their slots: nobody comes back to a detour
//   signals, guards, hooks, gs  the program's own again
//   unmap                      only now, and only if every return address was found
//
// A thread that stays inside a hit (stopped, or below a handler that never returns) keeps the agent.
#include "runtime-user/runtime/inproc/process/detach.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "common/proc.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/semaphores.h"
#include "runtime-user/runtime/inproc/process/stopped_text.h"
#include "runtime-user/runtime/inproc/process/work_code.h"
#include "runtime-user/runtime/inproc/x86/machine.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::inproc {

namespace {

// The patch that undoes what of ours stands there now, a breakpoint or a jump into our code; nullopt: nothing does.
std::optional<TextPatch> undoing(StoppedText& text, const RemoteMapper& mapper, const kevt_patch& noted) {
  constexpr std::uint8_t kJump = 0xe9;
  const std::span<const std::uint8_t> own(noted.own, std::min<std::size_t>(noted.length, sizeof noted.own));
  std::vector<std::uint8_t> now(own.size());
  const RemoteAddr site{noted.site};
  if (own.empty() || !text.read(site, now)) return std::nullopt;
  std::int32_t distance = 0;
  if (now.size() == x86::kJumpLength) std::memcpy(&distance, now.data() + 1, sizeof distance);
  const bool is_jump = now.front() == kJump && distance && mapper.is_code(site + x86::kJumpLength + distance);
  if (!is_jump && now.front() != x86::kBreakpoint) return std::nullopt;
  TextPatch patch{
      .site = site, .bytes = {own.begin(), own.end()}, .detour = {}, .moved = {}, .covered = 0, .expected = {}};
  if (!is_jump) patch.bytes.resize(1);
  return patch;
}

// Whether the file that was patched is mapped at the place. A process that has it still has the patch, too, whatever
// else the target has loaded there since.
bool has_file(const std::vector<target::Mapping>& maps, const kevt_patch& noted) {
  return noted.inode != 0 && std::ranges::any_of(maps, [&noted](const target::Mapping& mapping) {
           return mapping.inode == noted.inode && mapping.contains(RemoteAddr{noted.site});
         });
}

}  // namespace

// Whether an address lies in the code arena, or in the way back of a thread that worked for a dead tracer.
bool Detacher::is_ours(RemoteAddr at) const {
  return mapper_.is_code(at) || std::ranges::any_of(left_work_, [at](RemoteAddr place) {
           return at >= place && at < place + WorkCode::kRoom;
         });
}

// Inside a hit, or about to be: it stands in our code, or its int3 or fault has not reached the agent's handler yet.
bool Detacher::is_in_hit(pid_t tid) const {
  auto registers = tracee_.registers(tid);
  if (registers && is_ours(RemoteAddr{registers->rip})) return true;
  constexpr std::uint64_t kOwned = 1ull << (SIGTRAP - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGSEGV - 1);
  return proc::status_signals(tid, "SigPnd") & kOwned;
}

// Whether the thread is in a function that a dead tracer has called, an indirect function's resolver, which may lie in
// any file's code. The thread has the signal mask of such a call, and the address that the function returns to lies on
// its stack.
Result<bool> Detacher::is_called(pid_t tid) const {
  constexpr std::size_t kLooked = 64 * 1024;
  if (left_work_.empty()) return false;
  const auto mask = tracee_.signal_mask(tid);
  const auto registers = tracee_.registers(tid);
  if (!mask || !registers || *mask != Tracee::kMaskOfCalls) return false;
  std::vector<std::uint64_t> stack(kLooked / sizeof(std::uint64_t));
  const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(stack.data()), kLooked);
  const std::size_t read = KEVT_TRY(tracee_.read_some(RemoteAddr{registers->rsp & ~7ull}, bytes));
  stack.resize(read / sizeof(std::uint64_t));
  return std::ranges::any_of(stack, [this](std::uint64_t word) {
    return std::ranges::any_of(left_work_,
                               [word](RemoteAddr place) { return word == place.value + WorkCode::kReturnAt; });
  });
}

// A thread also counts if a signal handler has interrupted its hit, or its way back from work for a tracer, or if it
// runs a handler that the agent called.
Result<bool> Detacher::is_anyone_inside() {
  for (const pid_t tid : tracee_.threads()) {
    const bool is_inside = is_in_hit(tid) || KEVT_TRY(is_called(tid));
    if (is_inside) return true;
  }
  if (!signals_.is_taken() && left_work_.empty()) return false;
  KEVT_TRY(signals_.look());
  for (const pid_t tid : std::vector<pid_t>(tracee_.threads())) {
    auto frames = KEVT_TRY(signals_.frames_of(tid));
    if (std::ranges::any_of(frames, [this](const SignalFrame& frame) {
          return is_ours(frame.ip) || is_ours(RemoteAddr{frame.restorer});
        }))
      return true;
  }
  return false;
}

// The process runs ever longer between two looks. A look may take longer than a Go program lets a goroutine run. The
// program then sends itself signals; if it could run only for a moment each time, it would never get out of their
// handlers on a busy machine.
Result<bool> Detacher::wait_until_quiet() {
  constexpr std::int64_t kFirstNs = 1'000'000, kLongestNs = 64'000'000, kInAllNs = 20'000'000'000;
  std::int64_t waited = 0;
  for (std::int64_t pause = kFirstNs;; pause = std::min(pause * 3 / 2, kLongestNs)) {
    auto inside = is_anyone_inside();
    if (!inside) return inside;
    if (!*inside) return true;
    if (waited >= kInAllNs) return false;
    tracee_.release();
    const timespec moment = {0, pause};
    nanosleep(&moment, nullptr);
    waited += pause;
    KEVT_TRY(tracee_.stop());
  }
}

// %gs of the threads that have hit points into memory of ours.
Result<void> Detacher::forget_selves() {
  const PlacedAgent& agent = mapper_.agent();
  for (pid_t tid : tracee_.threads()) {
    auto registers = KEVT_TRY(tracee_.registers(tid));
    if (registers.gs_base - agent.selves.value >= agent.max_threads * sizeof(kevt_self)) continue;
    registers.gs_base = 0;
    KEVT_TRY(tracee_.set_registers(tid, registers));
  }
  return {};
}

Result<void> Detacher::undo(std::span<const kevt_patch> noted, std::uint8_t order) {
  std::map<std::uint64_t, TextPatch> patches;  // by site
  StoppedText text(tracee_);
  const auto maps = KEVT_TRY(target::read_maps(tracee_.pid()));
  for (const bool gone : {true, false})
    for (const kevt_patch& note : noted)
      if (note.order == order && (note.gone != 0) == gone && (!gone || has_file(maps, note)))
        if (auto patch = undoing(text, mapper_, note)) patches.try_emplace(note.site, std::move(*patch));
  const auto all = std::views::values(patches);
  return apply_patches(tracee_, signals_, std::vector<TextPatch>(all.begin(), all.end()));
}

Result<DetachResult> Detacher::take_away(std::span<const kevt_patch> noted, std::uint32_t check_offset,
                                         const Missed& missed) {
  if (!mapper_.agent().base.value) {  // nothing has run here yet
    KEVT_TRY(mapper_.take_away());
    return DetachResult::Nothing;
  }
  auto notes = KEVT_TRY(read_thread_notes(tracee_, mapper_.agent()));
  auto returns = KEVT_TRY(restore_return_slots(
      tracee_, notes, [this](RemoteAddr at) { return mapper_.is_code(at); }, missed));
  KEVT_TRY(signals_.give_back(check_offset));
  KEVT_TRY(undo(noted, KEVT_PATCH_LAST));
  KEVT_TRY(forget_selves());
  if (returns == Returns::Restored) KEVT_TRY(mapper_.take_away());
  return returns == Returns::Restored ? DetachResult::Nothing : DetachResult::Code;
}

// Asking for the handlers needs a scratch page of ours, which is taken away at the end.
Result<void> Detacher::let_work_end(Tracee& tracee) {
  if (tracee.refuses_calls()) return {};
  RemoteMapper mapper(tracee);
  SignalHandover signals(mapper);
  Detacher departure(mapper, signals);
  departure.left_work_ = left_work_places(tracee);
  if (departure.left_work_.empty()) return {};
  KEVT_TRY(departure.wait_until_quiet());
  return mapper.take_away();
}

Result<DetachResult> Detacher::leave(std::span<const kevt_patch> noted, std::uint32_t check_offset,
                                     const Missed& missed) {
  left_work_ = left_work_places(tracee_);
  KEVT_TRY(undo(noted, KEVT_PATCH_PROBE));
  if (const RemoteAddr priv = mapper_.agent().priv; priv.value) lower_noted_semaphores(tracee_, priv);
  if (tracee_.refuses_calls()) {
    tracee_.release();
    return DetachResult::Filtered;
  }
  auto quiet = KEVT_TRY(wait_until_quiet());
  auto left = quiet ? take_away(noted, check_offset, missed) : DetachResult::Agent;
  for (RemoteAddr place : left_work_)
    if (quiet) KEVT_TRY(erase_work_place(tracee_, place));
  tracee_.release();
  return left;
}

}  // namespace kevt::inproc
