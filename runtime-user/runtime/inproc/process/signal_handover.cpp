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
// Whose handlers run under the agent's in any case, for the place that they are shown (kevt_on_masked).
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
  auto page = mapper_.scratch_page();
  if (!page) return std::unexpected(std::move(page.error()));
  auto done = mapper_.call("rt_sigaction", SYS_rt_sigaction,
                           {static_cast<std::uint64_t>(signal), 0, page->value + RemoteMapper::kScratchAt, 8, 0, 0});
  if (!done) return std::unexpected(std::move(done.error()));
  kevt_disposition found{};
  if (auto got = tracee_.read(*page + RemoteMapper::kScratchAt, room_of(found)); !got)
    return std::unexpected(std::move(got.error()));
  return found;
}

Result<void> SignalHandover::set_disposition(int signal, const kevt_disposition& wanted) {
  auto page = mapper_.scratch_page();
  if (!page) return std::unexpected(std::move(page.error()));
  if (auto put = tracee_.write(*page + RemoteMapper::kScratchAt, bytes_of(wanted)); !put) return put;
  auto done = mapper_.call("rt_sigaction", SYS_rt_sigaction,
                           {static_cast<std::uint64_t>(signal), page->value + RemoteMapper::kScratchAt, 0, 8, 0, 0});
  if (!done) return std::unexpected(std::move(done.error()));
  return {};
}

// ---- frames ---------------------------------------------------------------------------------

Result<void> SignalHandover::look() {
  restorers_.clear();
  const std::uint64_t caught = proc::status_signals(tracee_.pid(), "SigCgt");
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (!(caught & bit(signal))) continue;
    auto found = disposition(signal);
    if (!found) return std::unexpected(std::move(found.error()));
    if (std::ranges::find(restorers_, found->restorer) == restorers_.end()) restorers_.push_back(found->restorer);
  }
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  maps_ = std::move(*maps);
  return {};
}

Result<std::vector<SignalFrame>> SignalHandover::frames_of(pid_t tid) const {
  return find_signal_frames(tracee_, tid, restorers_, maps_);
}

// ---- taking ---------------------------------------------------------------------------------

Result<void> SignalHandover::take_masks_of_handlers() {
  const std::uint64_t caught = proc::status_signals(tracee_.pid(), "SigCgt");
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (!(caught & bit(signal))) continue;
    auto own = disposition(signal);
    if (!own) return std::unexpected(std::move(own.error()));
    const std::uint64_t bits = own->mask & kThree;
    if (!bits && !(bit(signal) & kOfInstructions)) continue;
    if (auto put = tracee_.write(mask_note_at(signal), bytes_of(bits)); !put) return put;
    own->mask &= ~kThree;
    if (bit(signal) & kThree) continue;  // the agent's own handler takes its place
    const kevt_handler noted = {own->handler, own->restorer};
    if (auto put = tracee_.write(handler_note_at(signal), bytes_of(noted)); !put) return put;
    own->handler = mapper_.agent().base.value + agent_table().on_masked;
    own->restorer = mapper_.agent().base.value + agent_table().restorer;
    own->flags |= kRestorerFlag;
    if (auto set = set_disposition(signal, *own); !set) return set;
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
    auto own = disposition(signal);
    if (!own) return std::unexpected(std::move(own.error()));
    if (own->handler == 0 && ignored & bit(signal)) own->handler = 1;
    if (auto put = tracee_.write(note_at(signal), bytes_of(*own)); !put) return put;
    if (auto set = set_disposition(signal, ours); !set) return set;
  }
  const std::uint64_t one = 1;
  return tracee_.write(mapper_.agent().priv + offsetof(kevt_private, signals_owned), bytes_of(one));
}

// Noted before it is taken away: we may die in between.
Result<void> SignalHandover::take_masks_of_threads() {
  for (pid_t tid : tracee_.threads()) {
    auto mask = tracee_.signal_mask(tid);
    if (!mask) return std::unexpected(std::move(mask.error()));
    auto frames = frames_of(tid);
    if (!frames) return std::unexpected(std::move(frames.error()));
    // The outermost frame's: what the thread has when no handler runs.
    const std::uint64_t believed = (frames->empty() ? *mask : frames->back().mask) & kThree;
    if (believed)
      if (auto noted = note_blocked(tracee_, mapper_.agent(), tid, believed); !noted) return noted;
    for (const SignalFrame& frame : *frames) {
      const std::uint64_t clear = frame.mask & ~kThree;
      if (clear != frame.mask)
        if (auto put = tracee_.write(frame.mask_at, bytes_of(clear)); !put) return put;
    }
    if (*mask & kThree)
      if (auto set = tracee_.set_signal_mask(tid, *mask & ~kThree); !set) return set;
  }
  return {};
}

Result<void> SignalHandover::take() {
  if (auto looked = look(); !looked) return looked;  // before our handlers are among them
  taken_ = true;
  if (auto done = take_masks_of_handlers(); !done) return done;
  if (auto done = take_three(); !done) return done;
  return take_masks_of_threads();
}

// ---- giving back ----------------------------------------------------------------------------

// Of a signal that the agent does not have, nothing was noted.
Result<void> SignalHandover::give_three_back() {
  const std::uint64_t agents = mapper_.agent().base.value + agent_table().on_signal;
  for (int signal : kOwned) {
    auto now = disposition(signal);
    if (!now) return std::unexpected(std::move(now.error()));
    if (now->handler != agents) continue;
    kevt_disposition own{};
    if (auto got = tracee_.read(note_at(signal), room_of(own)); !got) return got;
    if (auto set = set_disposition(signal, own); !set) return set;
  }
  return {};
}

// Where the kernel's masks are the program's already, a note is meant for a handler of the agent's alone.
Result<void> SignalHandover::give_masks_of_handlers_back(bool owned) {
  for (int signal = 1; signal <= kSignals; ++signal) {
    std::uint64_t bits = 0;
    if (auto got = tracee_.read(mask_note_at(signal), room_of(bits)); !got) return got;
    if (bit(signal) & kThree || (!bits && !(bit(signal) & kOfInstructions))) continue;
    auto own = disposition(signal);
    if (!own) return std::unexpected(std::move(own.error()));
    const bool is_agents = own->handler == mapper_.agent().base.value + agent_table().on_masked;
    if (!owned && !is_agents) continue;
    own->mask |= bits;
    if (is_agents) {
      kevt_handler noted{};
      if (auto got = tracee_.read(handler_note_at(signal), room_of(noted)); !got) return got;
      own->handler = noted.handler;
      own->restorer = noted.restorer;
    }
    if (auto set = set_disposition(signal, *own); !set) return set;
  }
  return {};
}

Result<void> SignalHandover::give_mask_back(pid_t tid, std::uint64_t blocked) {
  auto mask = tracee_.signal_mask(tid);
  if (!mask) return std::unexpected(std::move(mask.error()));
  auto frames = frames_of(tid);
  if (!frames) return std::unexpected(std::move(frames.error()));
  if (auto set = tracee_.set_signal_mask(tid, *mask | blocked); !set) return set;
  for (const SignalFrame& frame : *frames) {
    const std::uint64_t full = frame.mask | blocked;
    if (auto put = tracee_.write(frame.mask_at, bytes_of(full)); !put) return put;
  }
  return {};
}

// By the target itself, which alone may send what another process has sent, as it was sent (rt_tgsigqueueinfo(2)). The
// thread blocks the signal by now: it waits, once, however often it is sent.
Result<void> SignalHandover::send_pending(const ThreadNote& note) {
  auto page = mapper_.scratch_page();
  if (!page) return std::unexpected(std::move(page.error()));
  const RemoteAddr at = *page + RemoteMapper::kScratchAt;
  for (std::size_t i = 0; i < std::size(kOwned); ++i) {
    if (!(note.pending & bit(kOwned[i]))) continue;
    std::array<std::uint64_t, sizeof(siginfo_t) / 8> info{};
    std::uint64_t words[KEVT_SENT_WORDS];
    if (auto got = tracee_.read(note.at + (offsetof(kevt_thread, sent) + sizeof words * i), room_of(words)); !got)
      return got;
    std::ranges::copy(words, info.begin());
    if (auto put = tracee_.write(at, bytes_of(info)); !put) return put;
    auto sent = mapper_.call("rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo,
                             {note.pid, note.tid, static_cast<std::uint64_t>(kOwned[i]), at.value, 0, 0});
    if (!sent) return std::unexpected(std::move(sent.error()));
  }
  return {};
}

// Where the masks are the program's already, a tracer that died has given them back, or never taken them.
Result<void> SignalHandover::give_masks_of_threads_back(std::uint32_t check_offset, bool owned) {
  auto notes = read_thread_notes(tracee_, mapper_.agent());
  if (!notes) return std::unexpected(std::move(notes.error()));
  for (pid_t tid : std::vector<pid_t>(tracee_.threads())) {
    const ThreadNote* note = note_of(tracee_, tid, check_offset, *notes);
    if (!note) continue;
    if (owned && note->blocked)
      if (auto given = give_mask_back(tid, note->blocked); !given) return given;
    if (note->pending && note->pid == tracee_.pid_in_its_namespace())  // a child inherits nothing that waits
      if (auto sent = send_pending(*note); !sent) return sent;
  }
  return {};
}

Result<void> SignalHandover::give_back(std::uint32_t check_offset) {
  if (!taken_) return {};
  if (auto looked = look(); !looked) return looked;
  const RemoteAddr owned_at = mapper_.agent().priv + offsetof(kevt_private, signals_owned);
  std::uint64_t owned = 0;
  if (auto got = tracee_.read(owned_at, room_of(owned)); !got) return got;
  if (auto done = give_masks_of_handlers_back(owned != 0); !done) return done;
  if (auto done = give_masks_of_threads_back(check_offset, owned != 0); !done) return done;
  owned = 0;  // from here on the kernel's masks are the program's
  if (auto put = tracee_.write(owned_at, bytes_of(owned)); !put) return put;
  auto done = give_three_back();
  if (done) taken_ = false;
  return done;
}

}  // namespace kevt::inproc
