// RecordRouter: takes records from the targets and brings each to the instances, or to the tap.
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
  // All of them outlive it.
  RecordRouter(TracingState& state, const TriggerInliner& inliner, StackStitcher& stacks, TaskHistory& tasks)
      : state_(state), inliner_(inliner), stacks_(stacks), tasks_(tasks), triggers_(state.events) {}

  // Takes what the targets have recorded; returns how many records. Never blocks. Behind finish() nothing waits for a
  // slower target any more.
  std::size_t drain();
  // Where TracingOptions::is_tapped: takes the instances' records from now on; it outlives this.
  void set_tap(RecordTap& tap, DrainOrder order) {
    tap_ = &tap;
    order_ = order;
  }
  // Nothing more will be recorded: who reads a stream is told its end, behind what is there.
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  // Whether records of the target wait for those of slower ones.
  bool is_any_pending(const TracedTarget& target) const {
    return pending_.any_waits([&](const PendingRecord& one) { return one.target == &target; });
  }
  // Synthetic events that a hit of `of` has made, in every instance that has them on. `target`: of the hit; nullptr: a
  // marker.
  void deliver_synthetic(std::span<const SyntheticHit> made, const runtime::Record& of, TracedTarget* target);
  // Of the event in this instance, up to the last drain(); final when every target has ended before that.
  runtime::EventCounts counts(const Instance& instance, const TracedEvent& event) const;

 private:
  struct PendingRecord {
    TracedTarget* target;
    std::uint32_t cpu;
    std::string comm;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint64_t> stack;
  };
  // `decided`: the instance whose triggers and gates its hit has asked; nullptr: none.
  struct Origin {
    TracedTarget* target = nullptr;
    Stack stack = Stack::None;
    const Instance* decided = nullptr;
  };
  // Of a hit: what held before its triggers acted.
  struct Before {
    bool tracing_on, softly_on;
    bool has_triggers;  // and they are asked
    bool needs_record;  // by them
  };
  // What a record's type means to a tap, looked up once.
  struct Route {
    std::uint64_t of_round = 0;  // of drain(): between two of them anything may change
    const TracedEvent* event = nullptr;
    EventState* state = nullptr;  // nullptr: deliver() knows what becomes of it
  };

  // Whether no record needs a look at gates and triggers of its instance; at those of its event.
  bool is_plain_tap() const;
  bool is_plain(const TracedEvent& event, const EventState& state) const;
  void tap_plainly(TracedTarget& target, const runtime::Record& record);
  void deliver(TracedTarget& target, const runtime::Record& record);
  void deliver(TracedTarget& target, const runtime::Record& record, const Instance* decided);
  void deliver_sampled(TracedTarget& target, const SampledType& type, const runtime::Record& record,
                       const Instance* decided);
  // Where a stack is to stand behind it; nullptr: nowhere.
  TraceBuffer* deliver_to(Instance& instance, const TracedEvent& event, const runtime::Record& record, Origin origin);
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
  unsigned nested_ = 0;        // synthetic events that a synthetic event has made
  bool is_finished_ = false;
};

}  // namespace kevt::engine
