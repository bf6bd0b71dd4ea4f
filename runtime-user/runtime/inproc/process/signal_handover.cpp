// A running program may block the three signals in some threads, have handlers for them, and list them
// in the masks of other handlers. While a signal is blocked an int3 or a fault of ours would end the
// process, so all three places are cleared and noted; the agent (runtime-user/agent/signals.c) shows the
// program what it believes it has.
//
//   thread blocks SIGSEGV      the kernel's mask without it, kevt_thread.blocked with it
//   thread is in a handler     the mask it returns to stands in the signal frame: the same there
//   handler's sa_mask has it   kevt_private.masks and handlers; the kernel's mask without it, the agent's handler for
//   it its own SIGSEGV handler    kevt_private.dispositions
//
// give_back() is the reverse, from what the program has set since. We may die at any step, and the program runs on: the
// hooks of its calls are there before the first step of take() and after the last of give_back(), and kevt_private's
// signals_owned says whose masks hold. Not covered: masks that sigsuspend(),
// ppoll() and the like put in place for their own duration, and ucontexts that a program keeps itself.
#include "runtime-user/runtime/inproc/process/signal_handover.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

#include "common/proc.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"

namespace kevt::inproc {

namespace {

constexpr int kOwned[] = {SIGTRAP, SIGBUS, SIGSEGV};
constexpr int kSignals = 64;
constexpr std::uint64_t kRestorerFlag = 0x04000000;

constexpr std::uint64_t bit(int signal) { return 1ull << (signal - 1); }
constexpr std::uint64_t kThree = bit(SIGTRAP) | bit(SIGBUS) | bit(SIGSEGV);
// Signals whose handlers always run under the agent's, which shows them the right place (kevt_on_masked).
constexpr std::uint64_t kOfInstructions = bit(SIGILL) | bit(SIGFPE);

template <class T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}
template <class T>
std::span<std::uint8_t> room_of(T& value) {
  return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

}  // namespace

RemoteAddr SignalHandover::note_at(int signal) const {
  return mapper_.agent().priv +
         (offsetof(kevt_private, dispositions) + sizeof(kevt_disposition) * static_cast<unsigned>(signal));
}
RemoteAddr SignalHandover::mask_note_at(int signal) const {
  return mapper_.agent().priv + (offsetof(kevt_private, masks) + 8 * static_cast<unsigned>(signal));
}

RemoteAddr SignalHandover::handler_note_at(int signal) const {
  return mapper_.agent().priv +
         (offsetof(kevt_private, handlers) + sizeof(kevt_handler) * static_cast<unsigned>(signal));
}

Result<kevt_disposition> SignalHandover::disposition(int signal) {
  auto page = KEVT_TRY(mapper_.scratch_page());
  KEVT_TRY(mapper_.call("rt_sigaction", SYS_rt_sigaction,
                        {static_cast<std::uint64_t>(signal), 0, page.value + RemoteMapper::kScratchAt, 8, 0, 0}));
  kevt_disposition found{};
  KEVT_TRY(tracee_.read(page + RemoteMapper::kScratchAt, room_of(found)));
  return found;
}

Result<void> SignalHandover::set_disposition(int signal, const kevt_disposition& wanted) {
  auto page = KEVT_TRY(mapper_.scratch_page());
  KEVT_TRY(tracee_.write(page + RemoteMapper::kScratchAt, bytes_of(wanted)));
  KEVT_TRY(mapper_.call("rt_sigaction", SYS_rt_sigaction,
                        {static_cast<std::uint64_t>(signal), page.value + RemoteMapper::kScratchAt, 0, 8, 0, 0}));
  return {};
}

// ---- frames ---------------------------------------------------------------------------------

Result<void> SignalHandover::look() {
  restorers_.clear();
  const std::uint64_t caught = proc::status_signals(tracee_.pid(), "SigCgt");
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (!(caught & bit(signal))) continue;
    auto found = KEVT_TRY(disposition(signal));
    if (std::ranges::find(restorers_, found.restorer) == restorers_.end()) restorers_.push_back(found.restorer);
  }
  maps_ = KEVT_TRY(target::read_maps(tracee_.pid()));
  return {};
}

Result<AlternateStack> SignalHandover::ask_alternate_stack(pid_t tid) {
  auto page = KEVT_TRY(mapper_.scratch_page());
  const RemoteAddr answer = page + RemoteMapper::kScratchAt;
  const auto asked = KEVT_TRY(tracee_.syscall_of(tid, SYS_sigaltstack, {0, answer.value}));
  stack_t found{};
  if (asked < 0) return std::unexpected(Error::of_errno(static_cast<int>(-asked)));
  KEVT_TRY(tracee_.read(answer, room_of(found)));
  return AlternateStack{RemoteAddr{reinterpret_cast<std::uint64_t>(found.ss_sp)}, found.ss_size};
}

// Go has all stacks in one mapping. What handlers have left on another thread's alternate stack, written over here and
// there, may look like a frame on a stack of this thread. Such a frame names another alternate stack than the thread
// has, so the thread is asked. A handler that has changed its thread's alternate stack meanwhile is not seen so.
Result<std::vector<SignalFrame>> SignalHandover::frames_of(pid_t tid) {
  const RemoteAddr base = mapper_.agent().base;
  const AgentCode agent{.restorer = base.value ? base.value + agent_table().restorer : 0,
                        .contains = [this](RemoteAddr at) { return mapper_.is_code(at); }};
  auto frames = KEVT_TRY(find_signal_frames(tracee_, tid, restorers_, agent, maps_));
  if (std::ranges::all_of(frames, &SignalFrame::is_on_alternate) || tracee_.refuses_calls()) return frames;
  const AlternateStack own = KEVT_TRY(ask_alternate_stack(tid));
  std::erase_if(frames, [&own](const SignalFrame& frame) { return !frame.is_on_alternate && frame.alternate != own; });
  return frames;
}

// ---- taking ---------------------------------------------------------------------------------

Result<void> SignalHandover::take_masks_of_handlers() {
  const std::uint64_t caught = proc::status_signals(tracee_.pid(), "SigCgt");
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (!(caught & bit(signal))) continue;
    auto own = KEVT_TRY(disposition(signal));
    const std::uint64_t bits = own.mask & kThree;
    if (!bits && !(bit(signal) & kOfInstructions)) continue;
    KEVT_TRY(tracee_.write(mask_note_at(signal), bytes_of(bits)));
    own.mask &= ~kThree;
    if (bit(signal) & kThree) continue;  // the agent's own handler takes its place
    const kevt_handler noted = {own.handler, own.restorer};
    KEVT_TRY(tracee_.write(handler_note_at(signal), bytes_of(noted)));
    own.handler = mapper_.agent().base.value + agent_table().on_masked;
    own.restorer = mapper_.agent().base.value + agent_table().restorer;
    own.flags |= kRestorerFlag;
    KEVT_TRY(set_disposition(signal, own));
  }
  return {};
}

// Our first step in the target has made an ignored SIGTRAP a default one: `ignored` is from before.
Result<void> SignalHandover::take_three() {
  const kevt_disposition ours = {mapper_.agent().base.value + agent_table().on_signal,
                                 SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART | kRestorerFlag,
                                 mapper_.agent().base.value + agent_table().restorer, 0};
  const std::uint64_t ignored = tracee_.ignored_at_start();
  for (int signal : kOwned) {
    auto own = KEVT_TRY(disposition(signal));
    if (own.handler == 0 && ignored & bit(signal)) own.handler = 1;
    KEVT_TRY(tracee_.write(note_at(signal), bytes_of(own)));
    KEVT_TRY(set_disposition(signal, ours));
  }
  const std::uint64_t one = 1;
  return tracee_.write(mapper_.agent().priv + offsetof(kevt_private, signals_owned), bytes_of(one));
}

// What a thread blocks is noted before it is taken away: we may die in between.
Result<void> SignalHandover::take_masks_of_threads() {
  for (const pid_t tid : std::vector<pid_t>(tracee_.threads())) {
    auto mask = KEVT_TRY(tracee_.signal_mask(tid));
    auto frames = KEVT_TRY(frames_of(tid));
    // The outermost frame's: what the thread has when no handler runs.
    const std::uint64_t believed = (frames.empty() ? mask : frames.back().mask) & kThree;
    if (believed) KEVT_TRY(note_blocked(tracee_, mapper_.agent(), tid, believed));
    for (const SignalFrame& frame : frames) {
      const std::uint64_t clear = frame.mask & ~kThree;
      if (clear != frame.mask) KEVT_TRY(tracee_.write(frame.mask_at, bytes_of(clear)));
    }
    if (mask & kThree) KEVT_TRY(tracee_.set_signal_mask(tid, mask & ~kThree));
  }
  return {};
}

Result<void> SignalHandover::take() {
  if (auto looked = look(); !looked) return looked;  // before our handlers are among them
  taken_ = true;
  KEVT_TRY(take_masks_of_handlers());
  KEVT_TRY(take_three());
  return take_masks_of_threads();
}

// ---- giving back ----------------------------------------------------------------------------

// A signal whose handler is not the agent's was not taken, and nothing was noted for it.
Result<void> SignalHandover::give_three_back() {
  const std::uint64_t agents = mapper_.agent().base.value + agent_table().on_signal;
  for (int signal : kOwned) {
    auto now = KEVT_TRY(disposition(signal));
    if (now.handler != agents) continue;
    kevt_disposition own{};
    KEVT_TRY(tracee_.read(note_at(signal), room_of(own)));
    KEVT_TRY(set_disposition(signal, own));
  }
  return {};
}

// Where the kernel's masks are the program's already (not `owned`), only signals with the agent's handler have a note
// that counts.
Result<void> SignalHandover::give_masks_of_handlers_back(bool owned) {
  for (int signal = 1; signal <= kSignals; ++signal) {
    std::uint64_t bits = 0;
    KEVT_TRY(tracee_.read(mask_note_at(signal), room_of(bits)));
    if (bit(signal) & kThree || (!bits && !(bit(signal) & kOfInstructions))) continue;
    auto own = KEVT_TRY(disposition(signal));
    const bool is_agents = own.handler == mapper_.agent().base.value + agent_table().on_masked;
    if (!owned && !is_agents) continue;
    own.mask |= bits;
    if (is_agents) {
      kevt_handler noted{};
      KEVT_TRY(tracee_.read(handler_note_at(signal), room_of(noted)));
      own.handler = noted.handler;
      own.restorer = noted.restorer;
    }
    KEVT_TRY(set_disposition(signal, own));
  }
  return {};
}

Result<void> SignalHandover::give_mask_back(pid_t tid, std::uint64_t blocked) {
  auto mask = KEVT_TRY(tracee_.signal_mask(tid));
  auto frames = KEVT_TRY(frames_of(tid));
  KEVT_TRY(tracee_.set_signal_mask(tid, mask | blocked));
  for (const SignalFrame& frame : frames) {
    const std::uint64_t full = frame.mask | blocked;
    KEVT_TRY(tracee_.write(frame.mask_at, bytes_of(full)));
  }
  return {};
}

// The target itself sends the signals, since it alone may use another sender's siginfo (rt_tgsigqueueinfo(2)). The
// thread blocks the signal by now: the signal waits, once, however often it is sent.
Result<void> SignalHandover::send_pending(const ThreadNote& note) {
  auto page = KEVT_TRY(mapper_.scratch_page());
  const RemoteAddr at = page + RemoteMapper::kScratchAt;
  for (std::size_t i = 0; i < std::size(kOwned); ++i) {
    if (!(note.pending & bit(kOwned[i]))) continue;
    std::array<std::uint64_t, sizeof(siginfo_t) / 8> info{};
    std::uint64_t words[KEVT_SENT_WORDS];
    KEVT_TRY(tracee_.read(note.at + (offsetof(kevt_thread, sent) + sizeof words * i), room_of(words)));
    std::ranges::copy(words, info.begin());
    KEVT_TRY(tracee_.write(at, bytes_of(info)));
    KEVT_TRY(mapper_.call("rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo,
                          {note.pid, note.tid, static_cast<std::uint64_t>(kOwned[i]), at.value, 0, 0}));
  }
  return {};
}

// Where the masks are the program's already, a tracer that died has given them back, or never taken them.
Result<void> SignalHandover::give_masks_of_threads_back(std::uint32_t check_offset, bool owned) {
  auto notes = KEVT_TRY(read_thread_notes(tracee_, mapper_.agent()));
  for (pid_t tid : std::vector<pid_t>(tracee_.threads())) {
    const ThreadNote* note = KEVT_TRY(note_of(tracee_, tid, check_offset, notes));
    if (!note) continue;
    if (owned && note->blocked) KEVT_TRY(give_mask_back(tid, note->blocked));
    if (note->pending && note->pid == tracee_.pid_in_its_namespace())  // a child inherits nothing that waits
      KEVT_TRY(send_pending(*note));
  }
  return {};
}

Result<void> SignalHandover::give_back(std::uint32_t check_offset) {
  if (!taken_) return {};
  KEVT_TRY(look());
  const RemoteAddr owned_at = mapper_.agent().priv + offsetof(kevt_private, signals_owned);
  std::uint64_t owned = 0;
  KEVT_TRY(tracee_.read(owned_at, room_of(owned)));
  KEVT_TRY(give_masks_of_handlers_back(owned != 0));
  KEVT_TRY(give_masks_of_threads_back(check_offset, owned != 0));
  owned = 0;  // from here on the kernel's masks are the program's
  KEVT_TRY(tracee_.write(owned_at, bytes_of(owned)));
  auto done = give_three_back();
  if (done) taken_ = false;
  return done;
}

}  // namespace kevt::inproc
