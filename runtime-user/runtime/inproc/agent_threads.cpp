// A thread is found as the agent finds it: by the word at %fs:0, its thread pointer. A note that is
// written here, before the thread's first hit, has pid 0; the agent fills in the rest and keeps `blocked`.
#include "runtime-user/runtime/inproc/agent_threads.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

namespace kevt::inproc {

namespace {

template <class T>
Result<T> read_value(const Tracee& tracee, RemoteAddr at) {
  T value{};
  auto got = tracee.read(at, {reinterpret_cast<std::uint8_t*>(&value), sizeof value});
  if (!got) return std::unexpected(std::move(got.error()));
  return value;
}

template <class T>
Result<void> write_value(const Tracee& tracee, RemoteAddr at, const T& value) {
  return tracee.write(at, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
}

RemoteAddr thread_at(const PlacedAgent& agent, std::uint64_t index) {
  return agent.priv + (offsetof(kevt_private, threads) + sizeof(kevt_thread) * index);
}

std::optional<std::uint64_t> thread_pointer_of(const Tracee& tracee, pid_t tid) {
  auto registers = tracee.registers(tid);
  if (!registers || !registers->fs_base) return std::nullopt;
  auto word = read_value<std::uint64_t>(tracee, RemoteAddr{registers->fs_base});
  return word && *word ? std::optional(*word) : std::nullopt;
}

}  // namespace

Result<void> mark_threads(Tracee& tracee) {
  for (pid_t tid : tracee.threads()) {
    auto registers = tracee.registers(tid);
    if (!registers) return std::unexpected(std::move(registers.error()));
    const RemoteAddr at{registers->fs_base};
    auto word = read_value<std::uint64_t>(tracee, at);
    if (!word || *word) continue;
    if (auto put = write_value(tracee, at, at.value); !put) return put;
  }
  return {};
}

Result<std::vector<ThreadNote>> read_thread_notes(const Tracee& tracee, const PlacedAgent& agent) {
  std::vector<ThreadNote> notes;
  auto used = read_value<std::uint64_t>(tracee, agent.priv + offsetof(kevt_private, used_threads));
  if (!used) return std::unexpected(std::move(used.error()));
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(*used, KEVT_MAX_THREADS); ++i) {
    const RemoteAddr at = thread_at(agent, i);
    ThreadNote note{.at = at};
    const auto fetch = [&](auto& field, std::size_t offset) {
      return tracee.read(at + offset, {reinterpret_cast<std::uint8_t*>(&field), sizeof field}).has_value();
    };
    const bool all = fetch(note.thread_pointer, offsetof(kevt_thread, thread_pointer)) &&
                     fetch(note.check, offsetof(kevt_thread, check)) && fetch(note.pid, offsetof(kevt_thread, pid)) &&
                     fetch(note.tid, offsetof(kevt_thread, tid)) && fetch(note.counts, offsetof(kevt_thread, counts)) &&
                     fetch(note.blocked, offsetof(kevt_thread, blocked)) &&
                     fetch(note.pending, offsetof(kevt_thread, pending)) &&
                     fetch(note.depth, offsetof(kevt_thread, depth));
    if (!all) return std::unexpected(Error("the agent's notes of threads cannot be read"));
    notes.push_back(note);
  }
  return notes;
}

const ThreadNote* note_of(const Tracee& tracee, pid_t tid, std::uint32_t check_offset,
                          const std::vector<ThreadNote>& notes) {
  const auto pointer = thread_pointer_of(tracee, tid);
  if (!pointer) return nullptr;
  auto it = std::ranges::find(notes, *pointer, &ThreadNote::thread_pointer);
  if (it == notes.end()) return nullptr;
  if (it->pid == 0) return &*it;
  auto check = read_value<std::uint32_t>(tracee, RemoteAddr{*pointer + check_offset});
  return check && *check == it->check ? &*it : nullptr;
}

Result<void> note_blocked(Tracee& tracee, const PlacedAgent& agent, pid_t tid, std::uint64_t blocked) {
  const auto pointer = thread_pointer_of(tracee, tid);
  if (!pointer) return {};  // no hit of it will ever be taken
  const RemoteAddr used_at = agent.priv + offsetof(kevt_private, used_threads);
  auto used = read_value<std::uint64_t>(tracee, used_at);
  if (!used) return std::unexpected(std::move(used.error()));
  if (*used >= KEVT_MAX_THREADS) return {};
  const RemoteAddr at = thread_at(agent, *used);
  if (auto put = write_value(tracee, at + offsetof(kevt_thread, blocked), blocked); !put) return put;
  if (auto put = write_value(tracee, at + offsetof(kevt_thread, thread_pointer), *pointer); !put) return put;
  return write_value(tracee, used_at, *used + 1);
}

}  // namespace kevt::inproc
