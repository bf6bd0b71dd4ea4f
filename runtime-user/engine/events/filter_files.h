// FilterFiles: writes to the files `filter` of events and groups.
#pragma once

#include <string_view>

#include "common/error.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class FilterFiles {
 public:
  // All arguments outlive this object.
  FilterFiles(TracingState& state, EventSwitcher& switcher, RecordRouter& records)
      : state_(state), switcher_(switcher), records_(records) {}

  // Sets the event's filter in this instance; `0` removes the filter. A mistake is in the instance's error_log, and
  // leaves the event without a filter.
  Result<void> write(Instance& instance, const TracedEvent& event, std::string_view text);
  // Sets the filter of every event of the group. An event that lacks a field of the filter has no filter then.
  Result<void> write_group(Instance& instance, std::string_view group, std::string_view text);

 private:
  bool bind(EventState& state, const TracedEvent& event, std::string_view text, diag::Sink& sink) const;

  TracingState& state_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
};

}  // namespace kevt::engine
