// CodeTable: the code that each event has had in each target. EventCode changes it, InstalledCode reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

using ProbeHandles = std::vector<runtime::ProbeHandle>;

// In place of a handle: the probe's library is not loaded; the target cannot have the probe.
inline constexpr runtime::ProbeHandle kDeferred = ~0u, kRefused = ~0u - 1;
inline bool is_placed(runtime::ProbeHandle handle) { return handle < kRefused; }
ProbeHandles placed_of(const ProbeHandles& handles);

// An event's code for one filter and one set of probes.
struct CodeVersion {
  std::string key;                      // of what it was compiled from; empty: there is none, or it never comes back
  std::vector<ProbeHandles> handles;    // for each target; one per probe; empty where the target had ended
  std::vector<std::uint64_t> serials;   // of the probes
  std::vector<std::uint64_t> triggers;  // whose histograms it counts

  // Of this probe in this target; kRefused: none.
  runtime::ProbeHandle handle_of(std::uint64_t serial, std::size_t target) const;
  // One of its probes can be had by no target.
  bool is_in_no_target() const;
};

struct EventVersions {
  CodeVersion now;
  std::vector<CodeVersion> former;  // disarmed: their counts are the event's, and each may come back
  bool armed = false;
  std::map<std::uint64_t, runtime::EventCounts> gone;  // of targets that were removed, by the probe's serial

  template <class Use>
  void for_each(const Use& use) const {
    use(now);
    std::ranges::for_each(former, use);
  }
  template <class Use>
  void for_each(const Use& use) {
    use(now);
    std::ranges::for_each(former, use);
  }
};

struct CodeTable {
  std::vector<TracedTarget*> targets;
  std::unordered_map<std::uint32_t, EventVersions> events;  // by id

  // nullptr: the event was never armed.
  const EventVersions* find(std::uint32_t event) const;
  std::size_t index_of(const TracedTarget& target) const;
  // A probe has no code in this target, which lives.
  bool lacks(const CodeVersion& version, std::size_t target) const;
  // It lacks nothing in any target.
  bool is_whole(const CodeVersion& version) const;
  // Of the first target that has any; nullptr: none has.
  StaticEvents* static_events() const;
};

}  // namespace kevt::engine
