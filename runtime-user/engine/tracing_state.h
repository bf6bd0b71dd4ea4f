// TracingState: the tables that the parts of one Tracing share: what is defined, its code, the instances.
//
// Who changes what: events the definition files and batches; code the EventSwitcher; an instance's filters and triggers
// FilterFiles and TriggerFiles; its buffers and counts the RecordRouter.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime-user/engine/code/event_code.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/instances/instance_table.h"
#include "runtime-user/engine/instances/shared_cell.h"
#include "runtime-user/engine/traced_target.h"
#include "runtime-user/engine/tracing_options.h"

namespace kevt::engine {

struct TracingState {
  TracingState(std::vector<TracedTarget*> targets, TracingOptions tracing_options);

  TracingOptions options;
  EventTable events;
  EventCode code;
  SharedCellPool cells;  // of the one target; none where there are several: each has its own, and they go with it
  InstanceTable instances;
  // Of this program: their hits are filtered, and trigger nothing.
  std::vector<std::int32_t> hidden_threads;
  void hide_own_threads();
  bool is_hidden(std::int32_t tid) const;

  bool has_several_targets() const { return options.follows || code.installed().targets().size() > 1; }
  // Where definitions are looked up: in the first target that lives; where programs are followed in each of them. Never
  // empty.
  std::vector<const target::TargetEnv*> envs();
};

}  // namespace kevt::engine
