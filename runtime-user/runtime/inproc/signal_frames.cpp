// struct rt_sigframe of x86-64 (arch/x86/include/asm/sigframe.h), from the stack pointer upwards:
//
//   pretcode     the handler's return address: sa_restorer of its sigaction      ← what is searched for
//   ucontext     flags, link, stack (40 bytes), 23 general registers, fpregs, 8 reserved words, mask
//   siginfo
//
// A word that equals a restorer is a frame when the rest looks like one: the user's code segment, and a
// pointer to floating-point state a little higher on the same stack. Where the interrupted stack pointer
// lies in another mapping (sigaltstack), the search goes on there.
#include "runtime-user/runtime/inproc/signal_frames.h"

#include <algorithm>
#include <cstring>

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMaxScan = 16u << 20;  // bytes of one stack
constexpr std::size_t kContext = 8;            // offsets from the frame's start
constexpr std::size_t kRegisters = kContext + 40;
constexpr std::size_t kRsp = kRegisters + 15 * 8;
constexpr std::size_t kRip = kRegisters + 16 * 8;
constexpr std::size_t kSegments = kRegisters + 18 * 8;
constexpr std::size_t kFpState = kRegisters + 23 * 8;
constexpr std::size_t kMask = kContext + 296;
constexpr std::size_t kHead = kMask + 8;
constexpr std::uint64_t kUserCode = 0x33;
constexpr std::uint64_t kFarthestFpState = 64 << 10;

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

// Appends the frames between `from` and the end of its mapping; returns interrupted stack pointers elsewhere.
std::vector<std::uint64_t> scan(const Tracee& tracee, std::uint64_t from, const target::Mapping& mapping,
                                std::span<const std::uint64_t> restorers, std::vector<SignalFrame>& frames) {
  std::vector<std::uint64_t> elsewhere;
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(mapping.end.value - from, kMaxScan));
  if (!tracee.read(RemoteAddr{from}, bytes)) return elsewhere;
  for (std::size_t i = 0; i + kHead <= bytes.size(); i += 8) {
    const std::uint64_t word = word_at(bytes.data(), i);
    if (std::ranges::find(restorers, word) == restorers.end()) continue;
    const std::uint8_t* frame = bytes.data() + i;
    if (!looks_like_frame(frame, from + i)) continue;
    frames.push_back({word, RemoteAddr{word_at(frame, kRip)}, word_at(frame, kMask), RemoteAddr{from + i + kRip},
                      RemoteAddr{from + i + kMask}});
    const std::uint64_t interrupted = word_at(frame, kRsp);
    if (!mapping.contains(RemoteAddr{interrupted})) elsewhere.push_back(interrupted);
  }
  return elsewhere;
}

}  // namespace

Result<std::vector<SignalFrame>> find_signal_frames(const Tracee& tracee, pid_t tid,
                                                    std::span<const std::uint64_t> restorers,
                                                    const std::vector<target::Mapping>& maps) {
  std::vector<SignalFrame> frames;
  if (restorers.empty()) return frames;
  auto registers = tracee.registers(tid);
  if (!registers) return std::unexpected(std::move(registers.error()));
  // In the restorer itself the return address has just been popped.
  constexpr std::uint64_t kRestorerBytes = 16;
  const bool returning = std::ranges::any_of(
      restorers, [&](std::uint64_t r) { return registers->rip >= r && registers->rip < r + kRestorerBytes; });
  std::vector<std::uint64_t> stacks = {(registers->rsp & ~7ull) - (returning ? 8 : 0)};
  std::vector<const target::Mapping*> seen;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const target::Mapping* mapping = mapping_of(maps, stacks[i]);
    if (!mapping || std::ranges::find(seen, mapping) != seen.end()) continue;
    seen.push_back(mapping);
    std::ranges::copy(scan(tracee, stacks[i] & ~7ull, *mapping, restorers, frames), std::back_inserter(stacks));
  }
  return frames;
}

}  // namespace kevt::inproc
