// Targets: programs that come, load libraries and end while they are traced.
#pragma once

#include <vector>

#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/records/stack_stitcher.h"
#include "runtime-user/engine/records/task_history.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class Targets {
 public:
  // All arguments outlive this object.
  Targets(TracingState& state, HitAggregation& aggregation, EventSwitcher& switcher, RecordRouter& records,
          StackStitcher& stacks, TaskHistory& tasks)
      : state_(state),
        aggregation_(aggregation),
        switcher_(switcher),
        records_(records),
        stacks_(stacks),
        tasks_(tasks) {}

  // Adds a followed program before its code runs; only where TracingOptions::follows. Events that are armed are armed
  // in this target, too. Returns a refusal for each probe that the target cannot have.
  std::vector<CodeRefusal> add(TracedTarget& target);
  // Removes a target that has ended and that nothing can hit any more. The events keep its counts, the buffers its
  // records. The engine does not use its runtime again; the caller calls forget() before destroying the target. False:
  // records of the target are still pending, and nothing was removed.
  bool remove(TracedTarget& target);
  // From now on addresses in the target's records are printed without names.
  void forget(const TracedTarget& target);
  // A target has loaded or unloaded a library, and waits before a new one's code runs. Probes whose code is gone wait
  // from now on; those that waited for a library that is there now are armed. Refusals of such probes are returned and
  // written to the top instance's error_log.
  std::vector<CodeRefusal> libraries_changed(TracedTarget& target);
  // The same where a JIT compiler has made or moved code.
  std::vector<CodeRefusal> code_moved(TracedTarget& target);
  // Whether a probe of an armed event waits for code in the target.
  bool waits(const TracedTarget& target) const;

 private:
  TracingState& state_;
  HitAggregation& aggregation_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
  StackStitcher& stacks_;
  TaskHistory& tasks_;
};

}  // namespace kevt::engine
