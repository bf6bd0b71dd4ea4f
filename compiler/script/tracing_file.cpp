// Paths of the tracing directory, told by their ends.
//
//   /sys/kernel/debug/tracing/events/kprobes/a/filter   →  EventFilter kprobes/a
//   $T/kprobe_events                                    →  Definitions
//   $T/instances/b/set_event                            →  SetEvent of instance b
//
// Problem: shell files name the directory in many ways, or change into it. Idea: only the last parts of a path count.
#include "compiler/script/tracing_file.h"

#include <algorithm>
#include <vector>

namespace kevt::script {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

struct NamedFile {
  std::string_view name;
  TracingFile file;
};

std::optional<TracingFile> top_file(std::string_view name) {
  const NamedFile files[] = {
      {"kprobe_events", {TracingFileKind::Definitions, DefinitionsFile::Kprobe, {}}},
      {"uprobe_events", {TracingFileKind::Definitions, DefinitionsFile::Uprobe, {}}},
      {"synthetic_events", {TracingFileKind::Definitions, DefinitionsFile::Synthetic, {}}},
      {"dynamic_events", {TracingFileKind::Definitions, DefinitionsFile::Dynamic, {}}},
      {"set_event", {TracingFileKind::SetEvent, {}, {}}},
      {"trace_clock", {TracingFileKind::TraceClock, {}, {}}},
      {"buffer_size_kb", {TracingFileKind::BufferSize, {}, {}}},
      {"trace", {TracingFileKind::Trace, {}, {}}},
      {"trace_pipe", {TracingFileKind::Trace, {}, {}}},
      {"tracing_on", {TracingFileKind::Switch, {}, {}}},
      {"current_tracer", {TracingFileKind::Switch, {}, {}}},
  };
  for (const NamedFile& one : files)
    if (one.name == name) return one.file;
  return std::nullopt;
}

std::optional<TracingFileKind> event_file(std::string_view name) {
  if (name == "enable") return TracingFileKind::EventEnable;
  if (name == "filter") return TracingFileKind::EventFilter;
  if (name == "trigger") return TracingFileKind::EventTrigger;
  return std::nullopt;
}

bool is_name(std::string_view part) { return part.find_first_of("*?[$`") == std::string_view::npos; }

}  // namespace

std::optional<std::string> instance_folder(std::string_view path) {
  const std::vector<std::string_view> parts = parts_of(path);
  const std::size_t count = parts.size();
  if (count < 2 || parts[count - 2] != "instances" || !is_name(parts.back())) return std::nullopt;
  return std::string(parts.back());
}

std::optional<TracingFile> tracing_file(std::string_view path) {
  std::vector<std::string_view> parts = parts_of(path);
  std::string instance;
  if (const auto in = std::ranges::find(parts, "instances"); in != parts.end()) {
    if (parts.end() - in < 3 || !is_name(in[1])) return std::nullopt;
    instance = in[1];
    parts.erase(parts.begin(), in + 2);
  }
  const std::size_t count = parts.size();
  if (count == 0 || std::ranges::find(parts, "per_cpu") != parts.end()) return std::nullopt;
  const auto kind = event_file(parts.back());
  if (!kind) {
    auto file = top_file(parts.back());
    if (file && !instance.empty() && file->kind == TracingFileKind::Definitions) return std::nullopt;
    if (file) file->instance = std::move(instance);
    return file;
  }
  if (count >= 4 && parts[count - 4] == "events") {
    if (!is_name(parts[count - 3]) || !is_name(parts[count - 2])) return std::nullopt;
    return TracingFile{*kind, {}, {std::string(parts[count - 3]), std::string(parts[count - 2])}, instance};
  }
  if (count >= 3 && parts[count - 3] == "events" && *kind == TracingFileKind::EventEnable && is_name(parts[count - 2]))
    return TracingFile{TracingFileKind::GroupEnable, {}, {std::string(parts[count - 2]), ""}, instance};
  return std::nullopt;
}

}  // namespace kevt::script
