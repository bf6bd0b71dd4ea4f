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
  std::string instance = {};                               // the instance that has the file; empty: the top one
};

// nullopt: the path is no tracing file that an event script can express.
std::optional<TracingFile> tracing_file(std::string_view path);
// If the path is the folder of an instance: the instance's name.
std::optional<std::string> instance_folder(std::string_view path);

}  // namespace kevt::script
