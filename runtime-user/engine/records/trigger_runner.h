// TriggerRunner: the reader runs the triggers of an instance for one record after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/instances/instance.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// Whether a record comes with its stack.
enum class Stack : std::uint8_t { None, Comes };

class TriggerRunner {
 public:
  // `events` outlives this object.
  explicit TriggerRunner(const EventTable& events) : events_(events) {}

  // What the triggers of a hit have done, and what is left for run_late() and the caller.
  struct Fired {
    bool turns_off = false, wants_stack = false;  // late triggers, for run_late()
    bool took_snapshot = false;
    bool is_counted = false;              // by a histogram
    bool is_dropped = false;              // by one that had no room for its key
    std::vector<SyntheticHit> synthetic;  // made by histograms; the caller delivers them
  };
  // Runs all triggers but the late ones. With Stack::None, `stacktrace` triggers do not fire.
  Fired run(Instance& instance, const TracedEvent& event, const runtime::Record& record, Stack stack) const;
  // Runs the late triggers. True: the caller must store the record's stack.
  bool run_late(Instance& instance, const TracedEvent& event, const Fired& fired) const;

 private:
  void act(Instance& instance, const model::Trigger& trigger) const;
  static void count(Instance& instance, const model::Trigger& trigger, const runtime::Record& record, Fired& fired);

  const EventTable& events_;
};

}  // namespace kevt::engine
