// RecordRouter: takes records from the targets and delivers each to the instances, or to the tap.
//
// hits = recorded + aggregated + filtered + lost + missed, for each event in each instance: counts().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/time_merger.h"
#include "runtime-user/engine/code/trigger_inliner.h"
#include "runtime-user/engine/records/record_tap.h"
#include "runtime-user/engine/records/stack_stitcher.h"
#include "runtime-user/engine/records/task_history.h"
#include "runtime-user/engine/records/trigger_runner.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class RecordRouter {
 public:
  // All arguments outlive this object.
  RecordRouter(TracingState& state, const TriggerInliner& inliner, StackStitcher& stacks, TaskHistory& tasks)
      : state_(state), inliner_(inliner), stacks_(stacks), tasks_(tasks), triggers_(state.events) {}

  // Reads and delivers the records of all targets; returns how many were delivered. Never blocks. With several targets,
  // a record waits until no slower target can come with an older one; after finish() none waits any more.
  std::size_t drain();
  // How many were delivered so far, without those of kevtrace's own threads.
  std::uint64_t delivered() const { return delivered_; }
  // Only with TracingOptions::is_tapped. From now on `tap`, which outlives this object, takes the records of all
  // instances.
  void set_tap(RecordTap& tap, DrainOrder order) {
    tap_ = &tap;
    order_ = order;
  }
  // To be called when nothing more will be recorded: readers of a stream get the rest and then the end of file.
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  // To be called behind the last drain() where another process had read the rings before, and has died: records that
  // were read and are counted nowhere are lost.
  void count_gone();
  // Whether records of the target still wait for records of slower targets.
  bool is_any_pending(const TracedTarget& target) const {
    return pending_.any_waits([&](const PendingRecord& one) { return one.target == &target; });
  }
  // Delivers synthetic events to every instance that has them on. `of`: the record of the hit that made them; `target`:
  // the hit's target; nullptr: a marker.
  void deliver_synthetic(std::span<const SyntheticHit> made, const runtime::Record& of, TracedTarget* target);
  // The event's counts in this instance up to the last drain(); final if every target had ended before that.
  runtime::EventCounts counts(const Instance& instance, const TracedEvent& event) const;

 private:
  struct PendingRecord {
    TracedTarget* target;
    std::uint32_t cpu;
    std::string comm;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint64_t> stack;
  };
  // Where a record comes from. `decided`: the instance whose triggers and gates the hit itself carried out; nullptr:
  // none.
  struct Origin {
    TracedTarget* target = nullptr;
    Stack stack = Stack::None;
    const Instance* decided = nullptr;
  };
  // The state before the triggers of a hit acted.
  struct Before {
    bool tracing_on, softly_on;
    bool has_triggers;  // and the reader runs them
    bool needs_record;  // the triggers do (need_record())
  };
  // What a record type means to a tap, looked up once per drain().
  struct Route {
    std::uint64_t of_round = 0;  // of rounds_: it is stale after the drain() that made it
    const TracedEvent* event = nullptr;
    EventState* state = nullptr;  // nullptr: not plain, so deliver() handles the record
  };

  // Whether records can skip the gates and triggers of the instance (is_plain_tap) and of their event (is_plain).
  bool is_plain_tap() const;
  bool is_plain(const TracedEvent& event, const EventState& state) const;
  void tap_plainly(TracedTarget& target, const runtime::Record& record);
  void deliver(TracedTarget& target, const runtime::Record& record);
  void deliver(TracedTarget& target, const runtime::Record& record, const Instance* decided);
  // Returns the buffer to which the record's stack is to be added; nullptr: no stack is wanted.
  TraceBuffer* deliver_to(Instance& instance, const TracedEvent& event, const runtime::Record& record, Origin origin);
  // Eprobes on a synthetic event, of which a record was made.
  void deliver_eprobes(const TracedEvent& of, const runtime::Record& made, TracedTarget* target);
  static bool is_open(const Instance& instance, const EventState& state, const Before& before);
  void store_stack(Instance& instance, TraceBuffer& buffer, TracedTarget& target, const TracedEvent& event,
                   const runtime::Record& record);

  TracingState& state_;
  const TriggerInliner& inliner_;
  StackStitcher& stacks_;
  TaskHistory& tasks_;
  TriggerRunner triggers_;
  TimeMerger<PendingRecord> pending_;  // only with several targets
  RecordTap* tap_ = nullptr;
  DrainOrder order_ = DrainOrder::ByTime;
  std::vector<Route> routes_;  // by type
  std::uint64_t rounds_ = 0;   // of drain()
  unsigned nested_ = 0;        // how deep synthetic events are made by synthetic events
  bool is_finished_ = false;
  std::uint64_t delivered_ = 0;
};

}  // namespace kevt::engine
