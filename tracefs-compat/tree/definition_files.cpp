// kprobe_events, uprobe_events, synthetic_events, dynamic_events; kprobe_profile, uprobe_profile; error_log.
//
//   > kprobe_events    opening with O_TRUNC removes all of that kind, or answers EBUSY and none     >> adds
//
// A uprobe's path may be relative to the working directory of who writes. Mirrors probes_open(),
// probes_profile_seq_show() of kernel/trace/trace_kprobe.c and trace_uprobe.c, tracing_err_log_open() of trace.c (6.1).
#include <fmt/format.h>

#include <cerrno>

#include "common/error.h"
#include "compiler/layout/layout.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

using grammar::EventsFile;

Opened open_definitions(const Place& place, const OpenRequest& request, EventsFile file) {
  engine::Tracing& tracing = *place.tracing;
  if (request.writes && request.truncates) KEVT_TRY(tracing.definitions().remove_all(file));
  return open_text({.read = [&tracing, file]() -> Result<std::string> { return tracing.events().listing(file); },
                    .write = [&tracing, file](std::string_view text,
                                              const Caller&) { return tracing.definitions().write(file, text); },
                    .write_some = {}});
}

// One line for each probe, in the order of definitions, with the name of the probe's event.
std::string profile(const engine::Tracing& tracing, EventsFile file) {
  std::string text;
  for (const engine::EventProbe* probe : tracing.events().probes_of(file)) {
    const model::Definition& definition = probe->definition();
    const engine::TracedEvent* event = tracing.events().find(definition.group, definition.event);
    const runtime::EventCounts counts = tracing.code().counts(event->id, probe->serial);
    const std::uint64_t hits = counts.attempts - counts.missed;
    if (file == EventsFile::Kprobe) {
      text += layout::profile_line(definition.event, hits, counts.missed);
      continue;
    }
    const auto* place = std::get_if<model::FilePlace>(&definition.place);
    text += fmt::format("  {} {:<44} {:>15}\n", place ? place->path : "", definition.event, hits);
  }
  return text;
}

Opened open_profile(const Place& place, EventsFile file) {
  const engine::Tracing& tracing = *place.tracing;
  return open_text({.read = [&tracing, file]() -> Result<std::string> { return profile(tracing, file); },
                    .write = {},
                    .write_some = {}});
}

}  // namespace

Opened open_kprobe_events(const Place& place, const OpenRequest& request) {
  return open_definitions(place, request, EventsFile::Kprobe);
}
Opened open_uprobe_events(const Place& place, const OpenRequest& request) {
  return open_definitions(place, request, EventsFile::Uprobe);
}
Opened open_synthetic_events(const Place& place, const OpenRequest& request) {
  return open_definitions(place, request, EventsFile::Synthetic);
}
Opened open_dynamic_events(const Place& place, const OpenRequest& request) {
  return open_definitions(place, request, EventsFile::Dynamic);
}
Opened open_kprobe_profile(const Place& place, const OpenRequest&) { return open_profile(place, EventsFile::Kprobe); }
Opened open_uprobe_profile(const Place& place, const OpenRequest&) { return open_profile(place, EventsFile::Uprobe); }

Opened open_error_log(const Place& place, const OpenRequest& request) {
  engine::ErrorLog& log = place.instance->errors;
  if (request.writes && request.truncates) log.clear();
  return open_text({.read = [&log]() -> Result<std::string> { return log.text(); },
                    .write = [](std::string_view, const Caller&) -> Result<void> { return {}; },
                    .write_some = {}});
}

}  // namespace kevt::tree
