// Tracing: everything behind a tracing directory, assembled from its parts. `kevtrace run`, the live questions, mounts
// and `doctor` are clients of one Tracing each.
//
//   definitions(), define()     ─► events()                     what is defined
//   filters(), triggers()       ─► top(), instances()           what each instance wants of it
//   switcher()                  ─► code()                       which code lies in the targets, and is armed
//   a hit ─► drain()            ─► records(), markers()         buffers, counts, the tap; tasks()
//   targets()                                                   programs that come and go
//
// One thread uses it: the one that made the runtimes (ptrace belongs to a thread). Refusals carry the errno that the
// kernel's own files answer with; what the kernel would write to an error_log about a refusal is in the instance's
// error_log.
#pragma once

#include <string_view>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/code/hit_aggregation.h"
#include "runtime-user/engine/code/trigger_inliner.h"
#include "runtime-user/engine/events/definition_batch.h"
#include "runtime-user/engine/events/definition_files.h"
#include "runtime-user/engine/events/filter_files.h"
#include "runtime-user/engine/events/trigger_files.h"
#include "runtime-user/engine/records/markers.h"
#include "runtime-user/engine/records/record_router.h"
#include "runtime-user/engine/records/stack_stitcher.h"
#include "runtime-user/engine/records/task_history.h"
#include "runtime-user/engine/targets.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class Tracing {
 public:
  // The targets outlive this object.
  Tracing(std::vector<TracedTarget*> targets, TracingOptions options)
      : state_(std::move(targets), std::move(options)) {}
  Tracing(const Tracing&) = delete;  // its parts hold references to each other

  const TracingOptions& options() const { return state_.options; }

  // Two ways to define: line by line, as the kernel's files do; or many at once, as `run` and scripts do.
  DefinitionFiles& definitions() { return definitions_; }
  Result<BatchAnswer> define(const DefinitionBatch& batch) {
    return BatchDefiner(state_, switcher_, triggers_).define(batch);
  }
  const EventTable& events() const { return state_.events; }

  Instance& top() { return state_.instances.top(); }
  InstanceTable& instances() { return state_.instances; }
  // ENOENT: no such instance. EBUSY: a file of it is open. On an error the instance is unchanged.
  Result<void> remove_instance(std::string_view name);
  FilterFiles& filters() { return filters_; }
  TriggerFiles& triggers() { return triggers_; }
  const TriggerFiles& triggers() const { return triggers_; }

  EventSwitcher& switcher() { return switcher_; }
  const EventSwitcher& switcher() const { return switcher_; }
  InstalledCode code() const { return state_.code.installed(); }
  Targets& targets() { return targets_; }
  // From now on hits of kevtrace's own threads are filtered and fire no trigger.
  void hide_own_threads() { state_.hide_own_threads(); }
  // In a copy of this process (session::Keeper): ProbeRuntime::let_go_in_copy() of all targets.
  void let_go_in_copy() {
    for (TracedTarget* target : code().targets()) target->runtime().let_go_in_copy();
  }
  // hide_own_threads() for records of such a copy.
  void hide_copy(std::int32_t pid) { state_.hide_copy(pid); }

  // Reads the records of all targets; returns how many were delivered. Never blocks.
  std::size_t drain() { return records_.drain(); }
  RecordRouter& records() { return records_; }
  const RecordRouter& records() const { return records_; }
  Markers& markers() { return markers_; }
  const Markers& markers() const { return markers_; }
  TaskHistory& tasks() { return tasks_; }
  const TaskHistory& tasks() const { return tasks_; }

 private:
  TracingState state_;
  HitAggregation aggregation_{state_};
  TriggerInliner inliner_{state_, aggregation_};
  StackStitcher stacks_;
  TaskHistory tasks_{state_};
  RecordRouter records_{state_, inliner_, stacks_, tasks_};
  Markers markers_{state_, tasks_, records_};
  EventSwitcher switcher_{state_, aggregation_, inliner_, records_};
  FilterFiles filters_{state_, switcher_, records_};
  TriggerFiles triggers_{state_, aggregation_, switcher_, records_};
  DefinitionFiles definitions_{state_, switcher_, records_};
  Targets targets_{state_, aggregation_, switcher_, records_, stacks_, tasks_};
};

}  // namespace kevt::engine
