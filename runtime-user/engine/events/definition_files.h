// DefinitionFiles: writes to kprobe_events, uprobe_events, synthetic_events and dynamic_events.
#pragma once

#include <span>
#include <string_view>

#include "common/error.h"
#include "grammar/parse.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class DefinitionFiles {
 public:
  // All arguments outlive this object.
  DefinitionFiles(TracingState& state, EventSwitcher& switcher, RecordRouter& records)
      : state_(state), switcher_(switcher), records_(records) {}

  // Carries out the lines of `text` until one is refused; the lines before it stay in effect. Mistakes are in the top
  // instance's error_log.
  Result<void> write(grammar::EventsFile file, std::string_view text);
  // Removes all definitions that the file shows. EBUSY when one of them is in use; none is removed then.
  Result<void> remove_all(grammar::EventsFile file);

 private:
  Result<void> write_line(grammar::EventsFile file, std::string_view line);
  Result<void> write_one(grammar::EventsFile file, std::string_view line);
  const TracedEvent* define_typed(grammar::EventsFile file, std::string_view line, const target::TargetEnv& env);
  Result<void> remove(std::span<const EventTable::Match> matches);
  void take_back(const EventTable::Match& match);

  TracingState& state_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
};

}  // namespace kevt::engine
