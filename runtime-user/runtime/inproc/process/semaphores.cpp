// What was raised is noted in the process itself, which fork copies: a child has the counters and the notes of that
// moment. A tracer that dies between two writes leaves a counter too high, never too low: a program that prepares
// arguments for nobody is slow, one that counts 65,535 tracers for ever is broken.
//
// A note says which byte of which file the counter is. Where that byte is not mapped there any more, its library was
// unloaded, and what is there now is left alone.
#include "runtime-user/runtime/inproc/process/semaphores.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compiler/target/process/process_map.h"

namespace kevt::inproc {

namespace {

template <class T>
std::span<std::uint8_t> raw_bytes(T& value) {
  return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

Result<void> change_by(const Tracee& tracee, RemoteAddr at, std::int64_t change) {
  std::uint16_t value = 0;
  KEVT_TRY(tracee.read(at, raw_bytes(value)));
  value = static_cast<std::uint16_t>(std::clamp<std::int64_t>(value + change, 0, UINT16_MAX));
  return tracee.write(at, raw_bytes(value));
}

RemoteAddr notes_at(RemoteAddr priv) { return priv + offsetof(kevt_private, raised); }

// A note that counts none; nullopt: there is no private writable memory of a file.
std::optional<kevt_raised> note_of(const std::vector<target::Mapping>& maps, RemoteAddr at) {
  const auto found = std::ranges::find_if(maps, [at](const target::Mapping& mapping) { return mapping.contains(at); });
  if (found == maps.end() || !found->writable || found->shared || !found->contains(at + 1) || !found->inode)
    return std::nullopt;
  return kevt_raised{.at = at.value,
                     .count = 0,
                     .inode = found->inode,
                     .offset = found->offset.value + static_cast<std::uint64_t>(at - found->start)};
}

bool is_still_there(const std::vector<target::Mapping>& maps, const kevt_raised& note) {
  const auto now = note_of(maps, RemoteAddr{note.at});
  return now && now->inode == note.inode && now->offset == note.offset;
}

// A counter that rises is written before its note, a counter that falls after it.
Result<void> change_to(const Tracee& tracee, RemoteAddr note_at, kevt_raised& note, std::uint32_t count) {
  const std::int64_t change = std::int64_t{count} - static_cast<std::int64_t>(note.count);
  if (change > 0) KEVT_TRY(change_by(tracee, RemoteAddr{note.at}, change));
  note.count = count;
  KEVT_TRY(tracee.write(note_at, raw_bytes(note)));
  return change < 0 ? change_by(tracee, RemoteAddr{note.at}, change) : Result<void>();
}

}  // namespace

Result<void> Semaphores::set(const Tracee& tracee, RemoteAddr priv, const std::map<RemoteAddr, std::uint32_t>& wanted) {
  const auto count_of = [&](const kevt_raised& note) {
    const auto found = wanted.find(RemoteAddr{note.at});
    return found == wanted.end() ? 0 : found->second;
  };
  std::set<RemoteAddr> fresh;
  for (const auto& [at, count] : wanted) fresh.insert(at);
  bool is_so = true;
  for (const auto& [slot, note] : noted_) {
    if (note.count) fresh.erase(RemoteAddr{note.at});
    is_so = is_so && (!note.count || note.count == count_of(note));
  }
  if (is_so && fresh.empty()) return {};
  const auto maps = target::read_maps(tracee.pid());
  if (!maps) return std::unexpected(maps.error());
  const auto change = [&](std::uint32_t slot, kevt_raised& note, std::uint32_t count) {
    return change_to(tracee, notes_at(priv) + sizeof note * slot, note, count);
  };
  for (auto& [slot, note] : noted_) {
    if (!note.count || note.count == count_of(note)) continue;
    if (!is_still_there(*maps, note)) note.count = 0;
    KEVT_TRY(change(slot, note, note.count ? count_of(note) : 0));
  }
  for (const RemoteAddr at : fresh) {
    const auto note = note_of(*maps, at);
    if (!note) continue;
    std::uint32_t slot = 0;
    while (noted_.contains(slot) && noted_[slot].count) ++slot;
    if (slot >= KEVT_MAX_RAISED) return std::unexpected(Error("more semaphores of markers than one session holds"));
    noted_[slot] = *note;
    KEVT_TRY(change(slot, noted_[slot], wanted.at(at)));
  }
  return {};
}

void lower_noted_semaphores(const Tracee& tracee, RemoteAddr priv) {
  const auto maps = target::read_maps(tracee.pid());
  std::array<kevt_raised, KEVT_MAX_RAISED> notes;
  if (!maps || !tracee.read(notes_at(priv), raw_bytes(notes))) return;
  for (std::uint32_t slot = 0; slot < notes.size(); ++slot)
    if (notes[slot].count && is_still_there(*maps, notes[slot]))
      (void)change_to(tracee, notes_at(priv) + sizeof notes[slot] * slot, notes[slot], 0);
}

}  // namespace kevt::inproc
