// Where an address of ours can be:
//
//   registers                    a thread in a hit, or on its way there
//   stacks, and what signal      the detour that an extractor returns to; return slots; what the agent's handlers keep
//   handlers have interrupted
//   around kevt_thread.guard     a hit on a stack that the thread has left for another one
//   kevt_thread.instances        a call under a return probe, whose stack may be copied away
#include "runtime-user/runtime/inproc/process/code_references.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMostOfAStack = 16u << 20;  // bytes, as for signal frames
constexpr std::uint64_t kAroundAGuard = 1024;       // bytes below and above: a detour's frame and what it calls

}  // namespace

void CodeReferences::add(std::uint64_t word) {
  if (mapper_.is_code(RemoteAddr{word})) words_.insert(word);
}

Result<void> CodeReferences::add_memory(std::uint64_t from, std::uint64_t to) {
  from &= ~7ull;
  if (from >= to) return {};
  std::vector<std::uint64_t> words((std::min(to, from + kMostOfAStack) - from) / sizeof(std::uint64_t));
  const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(words.data()), words.size() * sizeof words[0]);
  const std::size_t read = KEVT_TRY(tracee_.read_some(RemoteAddr{from}, bytes));
  words.resize(read / sizeof words[0]);
  for (const std::uint64_t word : words) add(word);
  return {};
}

Result<void> CodeReferences::look_at_thread(pid_t tid, SignalHandover& signals,
                                            const std::vector<target::Mapping>& maps) {
  auto registers = KEVT_TRY(tracee_.registers(tid));
  std::array<std::uint64_t, sizeof registers / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &registers, sizeof words);
  for (const std::uint64_t word : words) add(word);
  instructions_.insert(registers.rip);
  auto frames = KEVT_TRY(signals.frames_of(tid));
  std::vector<std::uint64_t> stacks = {registers.rsp};
  for (const SignalFrame& frame : frames) {
    add(frame.ip.value);
    instructions_.insert(frame.ip.value);
    stacks.push_back(frame.sp.value);
  }
  std::uint64_t seen_from = 1, seen_to = 0;
  for (const std::uint64_t stack : stacks) {
    if (stack >= seen_from && stack < seen_to) continue;
    const auto mapping = std::ranges::find_if(maps, [&](const auto& m) { return m.contains(RemoteAddr{stack}); });
    if (mapping == maps.end()) continue;
    seen_from = std::max(stack - x86::kRedZone, mapping->start.value);
    seen_to = std::min(mapping->end.value, seen_from + kMostOfAStack);
    KEVT_TRY(add_memory(seen_from, seen_to));
  }
  return {};
}

Result<void> CodeReferences::look_at_note(const ThreadNote& note) {
  if (note.guard) KEVT_TRY(add_memory(note.guard - kAroundAGuard, note.guard + kAroundAGuard));
  // The instance above the newest may be half filled in by a hit under way.
  const std::uint64_t used = std::min<std::uint64_t>(note.depth + 1, KEVT_RETURN_DEPTH);
  std::vector<kevt_return_instance> instances(used);
  const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(instances.data()), used * sizeof instances[0]);
  const RemoteAddr at = note.at + offsetof(kevt_thread, instances);
  KEVT_TRY(tracee_.read(at, bytes));
  for (const kevt_return_instance& instance : instances)
    if (instance.slot) calls_.insert(instance.event);
  return {};
}

Result<CodeReferences> CodeReferences::find(RemoteMapper& mapper, SignalHandover& signals) {
  CodeReferences found(mapper);
  KEVT_TRY(signals.look());
  auto maps = KEVT_TRY(target::read_maps(mapper.tracee().pid()));
  auto notes = KEVT_TRY(read_thread_notes(mapper.tracee(), mapper.agent()));
  std::set<std::uint64_t> living;  // thread pointers
  for (const pid_t tid : std::vector<pid_t>(mapper.tracee().threads())) {
    KEVT_TRY(found.look_at_thread(tid, signals, maps));
    const auto pointer = KEVT_TRY(thread_pointer_of(mapper.tracee(), tid));
    if (pointer) living.insert(*pointer);
  }
  for (const ThreadNote& note : notes) {
    if (!living.contains(note.thread_pointer)) continue;
    KEVT_TRY(found.look_at_note(note));
  }
  return found;
}

bool CodeReferences::has_any_in(const PlacedCode& code) const {
  const auto first = words_.lower_bound(code.at.value);
  return first != words_.end() && *first < code.at.value + code.bytes;
}

}  // namespace kevt::inproc
