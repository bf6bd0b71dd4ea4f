// Which file of the tracing directory a path means, wherever that directory is mounted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/model/histogram.h"
#include "compiler/script/imported.h"

namespace kevt::script {

enum class TracingFileKind : std::uint8_t {
  Definitions,
  EventEnable,
  EventFilter,
  EventTrigger,
  GroupEnable,
  SetEvent,
  TraceClock,
  BufferSize,
  Trace,   // trace, trace_pipe
  Switch,  // tracing_on, current_tracer: how a session begins and ends
};

struct TracingFile {
  TracingFileKind kind;
  DefinitionsFile definitions = DefinitionsFile::Dynamic;  // Definitions
  model::EventName event;                                  // Event…; GroupEnable: `system` alone
};

// nullopt: no file of it that an event script can speak of.
std::optional<TracingFile> tracing_file(std::string_view path);

}  // namespace kevt::script
