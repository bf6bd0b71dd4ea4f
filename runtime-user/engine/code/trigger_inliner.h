// TriggerInliner: decides which triggers and gates hits carry out by themselves (docs/adr/0020), and describes them for
// the compiler.
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
  // Both arguments outlive this object.
  TriggerInliner(TracingState& state, const HitAggregation& aggregation) : state_(state), aggregation_(aggregation) {}

  // The instance whose triggers and gates hits can carry out in the present state; nullptr: the reader has to
  // (RecordRouter). The instance's switches and counts are moved to cells that hits can reach.
  Instance* choose();
  // The instance whose triggers and gates the code of all events carries out; nullptr: none.
  Instance* instance() const { return instance_; }
  // Sets instance(); returns the instance before.
  Instance* use(Instance* instance) { return std::exchange(instance_, instance); }
  // To be called when all code has been changed for the instance given to use().
  void note_applied() {
    if (instance_) last_ = instance_;
  }
  // The instance whose triggers and gates were carried out by hits whose records say so (kGatesWereAsked), also where
  // the code has been replaced since.
  const Instance* last() const { return last_; }
  void forget(const Instance& instance);

  // The triggers and gates that the event's code is to carry out for instance().
  model::InlineTriggers triggers_of(const TracedEvent& event);
  // Identifies the triggers and gates: for the same text the same code is used again.
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
