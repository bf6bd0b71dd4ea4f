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
  std::string instance = {};                               // whose file it is; empty: the top one's
};

// nullopt: no file of it that an event script can speak of.
std::optional<TracingFile> tracing_file(std::string_view path);
// The name of an instance whose folder the path is.
std::optional<std::string> instance_folder(std::string_view path);

}  // namespace kevt::script
