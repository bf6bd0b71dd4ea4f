// What was raised is noted in the process itself, which fork copies: a child has the counters and the notes of that
// moment. A tracer that dies between the two writes leaves a counter too high, never too low: a program that prepares
// arguments for nobody is slow, one that counts 65,535 tracers for ever is broken.
#include "runtime-user/runtime/inproc/process/semaphores.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "common/abi/probe.h"
#include "compiler/target/process/process_map.h"

namespace kevt::inproc {

namespace {

template <class T>
std::span<std::uint8_t> raw_bytes(T& value) {
  return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

Result<void> change_by(const Tracee& tracee, RemoteAddr at, std::int64_t change) {
  std::uint16_t value = 0;
  if (auto read = tracee.read(at, raw_bytes(value)); !read) return read;
  value = static_cast<std::uint16_t>(std::clamp<std::int64_t>(value + change, 0, UINT16_MAX));
  return tracee.write(at, raw_bytes(value));
}

RemoteAddr note_at(RemoteAddr priv, std::uint32_t slot) {
  return priv + (offsetof(kevt_private, raised) + sizeof(kevt_raised) * slot);
}

bool is_there(const std::vector<target::Mapping>& maps, RemoteAddr at) {
  const auto found = std::ranges::find_if(maps, [at](const target::Mapping& mapping) { return mapping.contains(at); });
  return found != maps.end() && found->writable && !found->shared && found->contains(at + 1);
}

}  // namespace

Result<void> Semaphores::set(const Tracee& tracee, RemoteAddr priv, const std::map<RemoteAddr, std::uint32_t>& wanted) {
  std::map<RemoteAddr, std::uint32_t> changed = wanted;
  for (const auto& [at, raised] : raised_) changed.try_emplace(at, 0);
  std::erase_if(changed, [this](const auto& one) {
    const auto known = raised_.find(one.first);
    return one.second == (known == raised_.end() ? 0 : known->second.count);
  });
  if (changed.empty()) return {};
  const auto maps = target::read_maps(tracee.pid());
  if (!maps) return std::unexpected(maps.error());
  for (const auto& [at, count] : changed) {
    if (!is_there(*maps, at)) continue;
    const auto [known, is_new] = raised_.try_emplace(at, Raised{0, static_cast<std::uint32_t>(raised_.size())});
    Raised& raised = known->second;
    if (raised.slot >= KEVT_MAX_RAISED) {
      raised_.erase(known);
      return std::unexpected(Error("more semaphores of markers than one session holds"));
    }
    kevt_raised note{.at = at.value, .count = count};
    const std::int64_t change = std::int64_t{count} - raised.count;
    if (change > 0)
      if (auto done = change_by(tracee, at, change); !done) return done;
    if (auto noted = tracee.write(note_at(priv, raised.slot), raw_bytes(note)); !noted) return noted;
    if (change < 0)
      if (auto done = change_by(tracee, at, change); !done) return done;
    raised.count = count;
  }
  return {};
}

Result<void> lower_noted_semaphores(const Tracee& tracee, RemoteAddr priv) {
  const auto maps = target::read_maps(tracee.pid());
  if (!maps) return std::unexpected(maps.error());
  for (std::uint32_t slot = 0; slot < KEVT_MAX_RAISED; ++slot) {
    kevt_raised note{};
    if (auto read = tracee.read(note_at(priv, slot), raw_bytes(note)); !read) return read;
    if (!note.at) break;
    if (!note.count || !is_there(*maps, RemoteAddr{note.at})) continue;
    const std::int64_t change = -static_cast<std::int64_t>(note.count);
    note.count = 0;
    if (auto noted = tracee.write(note_at(priv, slot), raw_bytes(note)); !noted) return noted;
    if (auto lowered = change_by(tracee, RemoteAddr{note.at}, change); !lowered) return lowered;
  }
  return {};
}

}  // namespace kevt::inproc
