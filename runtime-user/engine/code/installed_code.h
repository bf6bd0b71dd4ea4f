// InstalledCode: what code events have in the targets, where it is armed, and what it has counted. A view: what
// EventCode changes is seen at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/code/code_table.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

class InstalledCode {
 public:
  // The table outlives it.
  explicit InstalledCode(const CodeTable& table) : table_(table) {}

  const std::vector<TracedTarget*>& targets() const { return table_.targets; }
  StaticEvents* static_events() const { return table_.static_events(); }
  // Whether misses are counted in every target: `missed ?` else.
  bool sees_misses() const;
  // Can probes have stacks? An error where a target neither takes them at the hit nor can be unwound.
  Result<void> can_have_stacks() const;

  // Over all targets and all code the event has had.
  runtime::EventCounts counts(std::uint32_t event) const;
  // Of one of its probes.
  runtime::EventCounts counts(std::uint32_t event, std::uint64_t serial) const;
  // Of all its probes in one target.
  runtime::EventCounts counts(std::uint32_t event, const TracedTarget& target) const;
  // What hits have counted since the last call, in all targets and all code the event has had.
  void take_hit_counts(std::uint32_t event, const std::function<void(TracedTarget&, const runtime::HitCount&)>& use);

  // Whether all code that the event has had asks this filter: no record comes that it rejects.
  bool always_asks(std::uint32_t event, std::string_view filter_text) const;
  // Of one probe in one target; nullopt: it has no code there.
  std::optional<runtime::ArmStatus> arm_status(std::uint32_t event, std::uint64_t serial,
                                               const TracedTarget& target) const;
  // Of one probe of the event as it is armed now, in each target.
  std::vector<runtime::ArmStatus> arm_status(std::uint32_t event, std::size_t probe) const;
  // Whether probes of the event, or this one of them, wait for a library of this target.
  bool is_deferred(std::uint32_t event, const TracedTarget& target) const;
  bool is_deferred(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const;
  // Probes of the event, which is armed, that have had code in no target so far and wait for a library or program.
  std::vector<const EventProbe*> waiting(const TracedEvent& event) const;

 private:
  const CodeTable& table_;
};

// Of one target, as InstalledCode::can_have_stacks.
Result<void> can_have_stacks(TracedTarget& target);

}  // namespace kevt::engine
