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
  // All of them outlive it.
  Targets(TracingState& state, HitAggregation& aggregation, EventSwitcher& switcher, RecordRouter& records,
          StackStitcher& stacks, TaskHistory& tasks)
      : state_(state),
        aggregation_(aggregation),
        switcher_(switcher),
        records_(records),
        stacks_(stacks),
        tasks_(tasks) {}

  // Where TracingOptions::follows: a program that has been followed, before its code runs. What is armed is armed
  // there, too. What it cannot have is returned.
  std::vector<CodeRefusal> add(TracedTarget& target);
  // One that has ended and that nothing can hit any more: its counts stay the events', its records stay in the buffers.
  // Its runtime is not used again; forget() is called before it goes. False: records of it are under way still.
  bool remove(TracedTarget& target);
  // Addresses in its records have no names from now on.
  void forget(const TracedTarget& target);
  // A library has come to a target, which waits before the library's code runs: what waited for it there is armed. What
  // turns out wrong with it then is returned, and in the error_log.
  std::vector<CodeRefusal> libraries_changed(TracedTarget& target);

 private:
  TracingState& state_;
  HitAggregation& aggregation_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
  StackStitcher& stacks_;
  TaskHistory& tasks_;
};

}  // namespace kevt::engine
