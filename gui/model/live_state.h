// LiveState: the state of a tracing directory's events and buffers at one moment.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::gui {

struct LiveEvent {
  QString system, name;
  bool is_enabled = false;
  std::uint64_t hits = 0, missed = 0;
  bool has_profile = false;  // dynamic events only
  QString definition;        // the line of dynamic_events; empty: a static event
  QString filter;            // "none" is empty
  QString trigger;
};

struct LiveState {
  std::vector<LiveEvent> events;  // by system, then name
  QString definitions;            // dynamic_events, or kprobe_events
  QString error_log;
  bool is_tracing = false;
  std::uint64_t lost = 0;  // overruns and drops of all CPUs
  QString lost_where;      // "CPU 0: 12, CPU 3: 4"; empty: nowhere
  std::uint64_t buffer_kb = 0;
  bool overwrites = false;
  QString clock;
};

// What the text of an error_log names last; empty: nothing.
QString lastMistake(const QString& error_log);
// The file to which new definitions are written.
std::string definitionsFile(tree::TracingDir& directory);
// Reads filters and triggers only of dynamic events and enabled events.
Result<LiveState> readLiveState(tree::TracingDir& directory);

}  // namespace kevt::gui
