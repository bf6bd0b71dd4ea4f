// Markers: writes to trace_marker and trace_marker_raw become records of an instance.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime-user/engine/records/record_router.h"
#include "runtime-user/engine/records/task_history.h"
#include "runtime-user/engine/records/trigger_runner.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class Markers {
 public:
  // All arguments outlive this object. Adds ftrace/print to the events that definitions know.
  Markers(TracingState& state, TaskHistory& tasks, RecordRouter& records);

  // ftrace/print, the event of every marker. It has no code and is always on; its triggers see every marker.
  const TracedEvent& event() const { return event_; }
  void write(Instance& instance, std::int32_t tid, std::string_view comm, std::string_view text);
  void write_raw(Instance& instance, std::int32_t tid, std::string_view comm, std::span<const std::uint8_t> data);

 private:
  TaskHistory& tasks_;
  RecordRouter& records_;
  TriggerRunner triggers_;
  TracedEvent event_;
};

}  // namespace kevt::engine
