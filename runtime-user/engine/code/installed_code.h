// InstalledCode: a view of the code that events have in the targets: where it is armed, and what it has counted. It
// shows changes by EventCode at once.
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
  // The table outlives this object.
  explicit InstalledCode(const CodeTable& table) : table_(table) {}

  const std::vector<TracedTarget*>& targets() const { return table_.targets; }
  // Grows whenever targets, or code in them, may have changed.
  std::uint64_t changes() const { return table_.changes; }
  StaticEvents* static_events() const { return table_.static_events(); }
  // The targets that take some probe of the event; of a static event those that have such events; of a synthetic event
  // none, since no code makes it.
  std::vector<TracedTarget*> targets_of(const TracedEvent& event) const;
  // Whether the event's misses are counted in each of these targets; if not, `missed ?` is printed.
  bool sees_misses(const TracedEvent& event) const;
  // TracedTarget::prepare_stacks() of all living targets.
  Result<void> prepare_stacks() const;

  // The event's counts over all targets, removed ones included, and all code that the event has had.
  runtime::EventCounts counts(std::uint32_t event) const;
  // The counts of one of its probes.
  runtime::EventCounts counts(std::uint32_t event, std::uint64_t serial) const;
  // The counts of all its probes in one target.
  runtime::EventCounts counts(std::uint32_t event, const TracedTarget& target) const;
  // Passes to `use` what hits have counted into histograms since the last call, in all targets and all code that the
  // event has had.
  void take_hit_counts(std::uint32_t event, const std::function<void(TracedTarget&, const runtime::HitCount&)>& use);

  // Whether all code that the event has had checks this filter, so that no record comes that the filter rejects.
  bool always_asks(std::uint32_t event, std::string_view filter_text) const;
  // The state of one probe in one target; nullopt: the probe has no code there, and had none that is gone.
  std::optional<runtime::ArmStatus> arm_status(std::uint32_t event, std::uint64_t serial,
                                               const TracedTarget& target) const;
  // The state of one probe (an index) of the event's present code, for each target.
  std::vector<runtime::ArmStatus> arm_status(std::uint32_t event, std::size_t probe) const;
  // Whether some probe of the event, or the one with this serial, waits for the target to load a library.
  bool is_deferred(std::uint32_t event, const TracedTarget& target) const;
  bool is_deferred(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const;
  // Whether the target has, or had, code of the probe.
  bool was_placed(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const;
  // Probes of an armed event that have never had code in any target and wait for a library. Empty: the event is not
  // armed, or no probe waits.
  std::vector<const EventProbe*> waiting(const TracedEvent& event) const;

 private:
  std::optional<runtime::ArmStatus> gone_status(const EventVersions& versions, std::uint64_t serial,
                                                std::size_t target) const;

  const CodeTable& table_;
};

}  // namespace kevt::engine
