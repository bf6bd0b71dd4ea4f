// TriggerInliner: triggers and gates that hits carry out by themselves (docs/adr/0020), as the code of events asks
// them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/model/compiled_event.h"
#include "compiler/model/filter.h"
#include "compiler/model/trigger.h"
#include "runtime-user/engine/code/hit_aggregation.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class TriggerInliner {
 public:
  // Both outlive it.
  TriggerInliner(TracingState& state, const HitAggregation& aggregation) : state_(state), aggregation_(aggregation) {}

  // The instance whose triggers and gates hits can carry out as everything stands now; nullptr: the reader has to
  // (RecordRouter). Its switches and counts lie where hits reach them from then on.
  Instance* choose();
  // Whose the code of all events asks; nullptr: no instance's.
  Instance* instance() const { return instance_; }
  // That one's from now on; returns the one before.
  Instance* use(Instance* instance) { return std::exchange(instance_, instance); }
  // All code has been changed to what was given to use().
  void note_applied() {
    if (instance_) last_ = instance_;
  }
  // Whose triggers and gates a record's hit has asked that says so: also of code that is gone.
  const Instance* last() const { return last_; }
  void forget(const Instance& instance);

  // What the event's code carries out for instance().
  model::InlineTriggers triggers_of(const TracedEvent& event);
  // What tells them from others: code with the same text is kept.
  std::string key_of(const TracedEvent& event, const model::InlineTriggers& triggers) const;

 private:
  bool share_cells(Instance& instance);
  std::vector<model::InlineTriggers::Gate> gates_of(const TracedEvent& event);

  TracingState& state_;
  const HitAggregation& aggregation_;
  Instance* instance_ = nullptr;
  const Instance* last_ = nullptr;
};

}  // namespace kevt::engine
