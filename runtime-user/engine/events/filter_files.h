// FilterFiles: what is written to the files `filter` of events and groups.
#pragma once

#include <string_view>

#include "common/error.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class FilterFiles {
 public:
  // All of them outlive it.
  FilterFiles(TracingState& state, EventSwitcher& switcher, RecordRouter& records)
      : state_(state), switcher_(switcher), records_(records) {}

  // The event's filter in this instance; `0` takes it away. After a mistake, which is in the instance's error_log,
  // there is none.
  Result<void> write(Instance& instance, const TracedEvent& event, std::string_view text);
  // Of every event of the group. Those that lack a field of it have no filter then.
  Result<void> write_group(Instance& instance, std::string_view group, std::string_view text);

 private:
  bool bind(EventState& state, const TracedEvent& event, std::string_view text, diag::Sink& sink) const;

  TracingState& state_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
};

}  // namespace kevt::engine
