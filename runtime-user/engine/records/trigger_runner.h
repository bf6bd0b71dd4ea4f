// TriggerRunner: triggers of an instance carried out by the reader, for one record after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/instances/instance.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// Whether a record came with what a stack can be made of.
enum class Stack : std::uint8_t { None, Comes };

class TriggerRunner {
 public:
  // `events` outlives it.
  explicit TriggerRunner(const EventTable& events) : events_(events) {}

  // What the triggers of a hit have left to be done, and done. An event has one of each kind.
  struct Fired {
    bool turns_off = false, wants_stack = false;  // late: behind the record
    bool took_snapshot = false;
    bool is_counted = false;              // by a histogram
    std::vector<SyntheticHit> synthetic;  // that histograms made: the caller brings them to the instances
  };
  // All but the late ones act. Without a stack, those that want one are not met.
  Fired run(Instance& instance, const TracedEvent& event, const runtime::Record& record, Stack stack) const;
  // True: a stack is to be stored.
  bool run_late(Instance& instance, const TracedEvent& event, const Fired& fired) const;

 private:
  void act(Instance& instance, const model::Trigger& trigger) const;
  static void count(Instance& instance, const model::Trigger& trigger, const runtime::Record& record, Fired& fired);

  const EventTable& events_;
};

}  // namespace kevt::engine
