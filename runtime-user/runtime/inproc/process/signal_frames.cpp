// struct rt_sigframe of x86-64 (arch/x86/include/asm/sigframe.h), from the stack pointer upwards:
//
//   pretcode     the handler's return address: sa_restorer of its sigaction      ← what is searched for
//   ucontext     flags, link, stack (40 bytes), 23 general registers, fpregs, 8 reserved words, mask
//   siginfo
//
// A word that equals a restorer is a frame when the rest looks like one: the user's code segment, and a pointer to
// floating-point state a little higher on the same stack. A frame says what the thread's alternate stack is
// (sigaltstack). A frame on that stack is the thread's only if the search began on that stack; the code that it
// interrupted may use another stack, where the search goes on. Go has all its stacks in one mapping.
#include "runtime-user/runtime/inproc/process/signal_frames.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMaxScan = 16u << 20;  // bytes of one stack
constexpr std::size_t kContext = 8;            // offsets from the frame's start
constexpr std::size_t kAltStack = kContext + 16;
constexpr std::size_t kAltBytes = kContext + 32;
constexpr std::size_t kRegisters = kContext + 40;
constexpr std::size_t kRsp = kRegisters + 15 * 8;
constexpr std::size_t kRip = kRegisters + 16 * 8;
constexpr std::size_t kSegments = kRegisters + 18 * 8;
constexpr std::size_t kFpState = kRegisters + 23 * 8;
constexpr std::size_t kMask = kContext + 296;
constexpr std::size_t kSignal = kMask + 8;  // the siginfo's first word
constexpr std::size_t kHead = kSignal + 8;
constexpr std::uint64_t kUserCode = 0x33;
constexpr std::uint64_t kFarthestFpState = 64 << 10;
constexpr std::size_t kMaxStacks = 16;  // changes of the stack; the memory is a hostile process's

std::uint64_t word_at(const std::uint8_t* bytes, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, bytes + offset, sizeof word);
  return word;
}

bool looks_like_frame(const std::uint8_t* bytes, std::uint64_t at) {
  const std::uint64_t fp = word_at(bytes, kFpState);
  return (word_at(bytes, kSegments) & 0xffff) == kUserCode && fp > at && fp < at + kFarthestFpState;
}

const target::Mapping* mapping_of(const std::vector<target::Mapping>& maps, std::uint64_t address) {
  auto it = std::ranges::find_if(maps, [&](const target::Mapping& m) { return m.contains(RemoteAddr{address}); });
  return it == maps.end() || !it->readable ? nullptr : &*it;
}

class FrameSearch {
 public:
  FrameSearch(const Tracee& tracee, std::span<const std::uint64_t> restorers, const AgentCode& agent)
      : tracee_(tracee), restorers_(restorers), agent_(agent) {}

  // The thread, or code that a frame says was interrupted, stands there.
  void stands_at(RemoteAddr ip) { is_in_agent_ = is_in_agent_ || (agent_.restorer && agent_.contains(ip)); }
  // Appends the frames of the stack that `from` is on; returns the stack pointer that they have interrupted elsewhere.
  std::optional<std::uint64_t> scan(std::uint64_t from, const target::Mapping& mapping,
                                    std::vector<SignalFrame>& frames);

 private:
  // The agent's restorer takes the signal's number out of a frame; its handlers write it (agent/signals.c). What is
  // left of the frame may then be overwritten in parts: where its number was, another number or an address may stand. A
  // program's handler that changes the number of its own siginfo is taken for one that has returned.
  bool is_left_over(std::uint64_t restorer, const std::uint8_t* frame) const {
    constexpr std::uint32_t kLastSignal = 64;
    const auto number = static_cast<std::uint32_t>(word_at(frame, kSignal));
    return restorer == agent_.restorer && !is_in_agent_ && (number == 0 || number > kLastSignal);
  }

  const Tracee& tracee_;
  std::span<const std::uint64_t> restorers_;
  const AgentCode& agent_;
  bool is_in_agent_ = false;
};

std::optional<std::uint64_t> FrameSearch::scan(std::uint64_t from, const target::Mapping& mapping,
                                               std::vector<SignalFrame>& frames) {
  std::optional<std::uint64_t> elsewhere;
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(mapping.end.value - from, kMaxScan));
  if (!tracee_.read(RemoteAddr{from}, bytes)) return elsewhere;
  for (std::size_t i = 0; i + kHead <= bytes.size(); i += 8) {
    const std::uint64_t word = word_at(bytes.data(), i);
    if (std::ranges::find(restorers_, word) == restorers_.end()) continue;
    const std::uint8_t* frame = bytes.data() + i;
    if (!looks_like_frame(frame, from + i) || is_left_over(word, frame)) continue;
    const AlternateStack alt{RemoteAddr{word_at(frame, kAltStack)}, word_at(frame, kAltBytes)};
    const bool on_alt = alt.contains(RemoteAddr{from + i});
    if (on_alt && !alt.contains(RemoteAddr{from})) continue;  // left over, or another thread's
    const std::uint64_t interrupted = word_at(frame, kRsp);
    frames.push_back({.alternate = alt,
                      .is_on_alternate = on_alt,
                      .restorer = word,
                      .ip = RemoteAddr{word_at(frame, kRip)},
                      .sp = RemoteAddr{interrupted},
                      .mask = word_at(frame, kMask),
                      .ip_at = RemoteAddr{from + i + kRip},
                      .mask_at = RemoteAddr{from + i + kMask}});
    stands_at(frames.back().ip);
    if (on_alt ? alt.contains(RemoteAddr{interrupted}) : mapping.contains(RemoteAddr{interrupted})) continue;
    elsewhere = interrupted;
    if (on_alt) break;
  }
  return elsewhere;
}

}  // namespace

Result<std::vector<SignalFrame>> find_signal_frames(const Tracee& tracee, pid_t tid,
                                                    std::span<const std::uint64_t> restorers, const AgentCode& agent,
                                                    const std::vector<target::Mapping>& maps) {
  std::vector<SignalFrame> frames;
  if (restorers.empty()) return frames;
  auto registers = KEVT_TRY(tracee.registers(tid));
  // In the restorer itself the return address has just been popped.
  constexpr std::uint64_t kRestorerBytes = 16;
  const bool returning = std::ranges::any_of(
      restorers, [&](std::uint64_t r) { return registers.rip >= r && registers.rip < r + kRestorerBytes; });
  FrameSearch search(tracee, restorers, agent);
  search.stands_at(RemoteAddr{registers.rip});
  std::optional<std::uint64_t> stack = registers.rsp - (returning ? 8 : 0);
  for (std::size_t n = 0; stack && n < kMaxStacks; ++n) {
    const target::Mapping* mapping = mapping_of(maps, *stack);
    if (!mapping) break;
    stack = search.scan(*stack & ~7ull, *mapping, frames);
  }
  return frames;
}

}  // namespace kevt::inproc
