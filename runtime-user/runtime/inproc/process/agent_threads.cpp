// A thread is found as the agent finds it: by the word at %fs:0, its thread pointer. A note that is
// written here, before the thread's first hit, has pid 0; the agent fills in the rest and keeps `blocked`.
#include "runtime-user/runtime/inproc/process/agent_threads.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace kevt::inproc {

namespace {

template <class T>
Result<T> read_value(const Tracee& tracee, RemoteAddr at) {
  T value{};
  KEVT_TRY(tracee.read(at, {reinterpret_cast<std::uint8_t*>(&value), sizeof value}));
  return value;
}

template <class T>
Result<std::optional<T>> read_if_mapped(const Tracee& tracee, RemoteAddr at) {
  T value{};
  const bool is_there = KEVT_TRY(tracee.read_if_mapped(at, {reinterpret_cast<std::uint8_t*>(&value), sizeof value}));
  return is_there ? std::optional(value) : std::nullopt;
}

template <class T>
Result<void> write_value(const Tracee& tracee, RemoteAddr at, const T& value) {
  return tracee.write(at, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
}

RemoteAddr thread_at(const PlacedAgent& agent, std::uint64_t index) {
  return agent.priv + (offsetof(kevt_private, threads) + sizeof(kevt_thread) * index);
}

// As the agent does (runtime-user/agent/places.c), but in a stopped process. Where the table has no room, the thread
// stays unknown.
Result<void> enter_table(const Tracee& tracee, const PlacedAgent& agent, RemoteAddr thread, std::uint32_t number,
                         std::uint64_t pointer) {
  std::uint32_t place = KEVT_PLACE_OF(pointer);
  for (int n = 0; n < KEVT_PLACE_REACH; ++n, place = KEVT_NEXT_PLACE(place)) {
    const RemoteAddr slot = agent.priv + (offsetof(kevt_private, places) + sizeof(std::uint32_t) * place);
    auto there = KEVT_TRY(read_value<std::uint32_t>(tracee, slot));
    if (there) continue;
    KEVT_TRY(write_value(tracee, thread + offsetof(kevt_thread, place), place));
    return write_value(tracee, slot, number + 1);
  }
  return {};
}

}  // namespace

Result<std::optional<std::uint64_t>> thread_pointer_of(const Tracee& tracee, pid_t tid) {
  const auto registers = tracee.registers(tid);
  if (!registers || !registers->fs_base) return std::nullopt;
  auto word = KEVT_TRY(read_if_mapped<std::uint64_t>(tracee, RemoteAddr{registers->fs_base}));
  return word && *word ? word : std::nullopt;
}

Result<void> mark_threads(Tracee& tracee) {
  for (pid_t tid : tracee.threads()) {
    auto registers = KEVT_TRY(tracee.registers(tid));
    const RemoteAddr at{registers.fs_base};
    auto word = KEVT_TRY(read_if_mapped<std::uint64_t>(tracee, at));
    if (!word || *word) continue;
    KEVT_TRY(write_value(tracee, at, at.value));
  }
  return {};
}

Result<std::vector<ThreadNote>> read_thread_notes(const Tracee& tracee, const PlacedAgent& agent) {
  std::vector<ThreadNote> notes;
  auto used = KEVT_TRY(read_value<std::uint64_t>(tracee, agent.priv + offsetof(kevt_private, used_threads)));
  std::array<std::uint8_t, offsetof(kevt_thread, instances)> head;
  for (std::uint64_t i = 0; i < std::min(used, agent.max_threads); ++i) {
    const RemoteAddr at = thread_at(agent, i);
    if (auto got = tracee.read(at, head); !got)
      return std::unexpected(std::move(got.error()).while_doing("reading the agent's notes of threads"));
    const auto field = [&]<class T>(T& to, std::size_t offset) { std::memcpy(&to, head.data() + offset, sizeof to); };
    ThreadNote note{.at = at};
    field(note.thread_pointer, offsetof(kevt_thread, thread_pointer));
    field(note.check, offsetof(kevt_thread, check));
    field(note.pid, offsetof(kevt_thread, pid));
    field(note.tid, offsetof(kevt_thread, tid));
    field(note.guard, offsetof(kevt_thread, guard));
    field(note.counts, offsetof(kevt_thread, counts));
    field(note.blocked, offsetof(kevt_thread, blocked));
    field(note.pending, offsetof(kevt_thread, pending));
    field(note.depth, offsetof(kevt_thread, depth));
    notes.push_back(note);
  }
  return notes;
}

Result<const ThreadNote*> note_of(const Tracee& tracee, pid_t tid, std::uint32_t check_offset,
                                  const std::vector<ThreadNote>& notes) {
  const auto pointer = KEVT_TRY(thread_pointer_of(tracee, tid));
  if (!pointer) return nullptr;
  auto it = std::ranges::find(notes, *pointer, &ThreadNote::thread_pointer);
  if (it == notes.end()) return nullptr;
  if (it->pid == 0) return &*it;
  auto check = KEVT_TRY(read_if_mapped<std::uint32_t>(tracee, RemoteAddr{*pointer + check_offset}));
  return check && *check == it->check ? &*it : nullptr;
}

// We may die between any two steps. The thread pointer comes last: until it is there, nobody takes the note for that
// thread's, and the thread still blocks the signals in the kernel.
Result<void> note_blocked(Tracee& tracee, const PlacedAgent& agent, pid_t tid, std::uint64_t blocked) {
  const auto pointer = KEVT_TRY(thread_pointer_of(tracee, tid));
  if (!pointer) return {};  // no hit of it will ever be taken
  const RemoteAddr used_at = agent.priv + offsetof(kevt_private, used_threads);
  auto used = KEVT_TRY(read_value<std::uint64_t>(tracee, used_at));
  if (used >= agent.max_threads) return {};
  const auto number = static_cast<std::uint32_t>(used);
  const RemoteAddr at = thread_at(agent, number);
  const RemoteAddr owner = agent.selves + (sizeof(kevt_self) * number + offsetof(kevt_self, owner));
  const std::uint64_t expected = KEVT_OWNER_EXPECTED;
  KEVT_TRY(write_value(tracee, owner, expected));
  KEVT_TRY(write_value(tracee, used_at, used + 1));
  KEVT_TRY(write_value(tracee, at + offsetof(kevt_thread, blocked), blocked));
  KEVT_TRY(enter_table(tracee, agent, at, number, *pointer));
  return write_value(tracee, at + offsetof(kevt_thread, thread_pointer), *pointer);
}

}  // namespace kevt::inproc
