// CodeTable: all code that each event has or had in each target. EventCode changes it, InstalledCode reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

using ProbeHandles = std::vector<runtime::ProbeHandle>;

// In place of a handle. kDeferred: the probe's library is not loaded yet. kRefused: the target cannot have the probe.
// kOfOthers: the target does not take the probe (TracedTarget::takes).
inline constexpr runtime::ProbeHandle kDeferred = ~0u, kRefused = ~0u - 1, kOfOthers = ~0u - 2;
inline bool is_placed(runtime::ProbeHandle handle) { return handle < kOfOthers; }
ProbeHandles placed_of(const ProbeHandles& handles);

// An event's code for one filter and one set of probes.
struct CodeVersion {
  std::string key;                      // what it was compiled from; empty: no code, or code never armed again
  std::vector<ProbeHandles> handles;    // by target, then by probe; empty for a target that had ended
  std::vector<std::uint64_t> serials;   // of the probes
  std::vector<std::uint64_t> triggers;  // ids of `hist` triggers that the code itself counts

  // The handle of the probe with this serial in this target; kRefused: there is none.
  runtime::ProbeHandle handle_of(std::uint64_t serial, std::size_t target) const;
  // Whether some probe has been refused by every target.
  bool is_in_no_target() const;
};

struct EventVersions {
  CodeVersion now;
  std::vector<CodeVersion> former;  // disarmed; their counts still belong to the event, and each may be armed again
  bool armed = false;
  // Counts of code that was given back, by the probe's serial and the target; nullptr: a target that was removed.
  std::map<std::pair<std::uint64_t, const TracedTarget*>, runtime::EventCounts> gone;

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
  std::uint64_t changes = 0;                                // grows whenever targets or code in them may have changed

  // nullptr: the event was never armed.
  const EventVersions* find(std::uint32_t event) const;
  std::size_t index_of(const TracedTarget& target) const;
  // Whether the target lives and some probe that it takes has no code in it.
  bool lacks(const CodeVersion& version, std::size_t target) const;
  // Whether every probe has code in every living target that takes it.
  bool is_whole(const CodeVersion& version) const;
  // The static events of the first target that has some; nullptr: no target has.
  StaticEvents* static_events() const;
};

}  // namespace kevt::engine
