#include "cli/complete/known_events.h"

#include <sys/stat.h>

#include "cli/definitions/script_texts.h"
#include "compiler/script/event_name.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {
namespace {

void add_defined(const std::vector<std::string>& definitions, const std::vector<std::string>& files,
                 std::vector<KnownEvent>& events) {
  const auto texts = collect_texts({.definitions = definitions, .files = files, .filters = {}, .needs_names = true});
  if (!texts) return;
  for (const Source& source : texts->definitions) {
    const auto named = script::name_definition(source.text);
    if (!named) continue;
    KnownEvent& event = events.emplace_back(named->name.system, named->name.event);
    for (const model::FetchArg& arg : named->definition.args) event.fields.push_back(arg.name);
    for (const model::SyntheticField& field : named->definition.fields) event.fields.push_back(field.name);
  }
}

bool is_regular(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Databases are not asked for a completion.
void add_recorded(const std::string& path, std::vector<KnownEvent>& events) {
  if (!is_regular(path)) return;
  const auto recording = record::open_recording(path);
  if (!recording) return;
  for (const record::EventFormat& format : (*recording)->metadata().formats.all()) {
    KnownEvent& event = events.emplace_back(format.system, format.name);
    for (const record::Field& field : format.fields)
      if (!field.name.starts_with("common_") && !field.name.starts_with("__probe_")) event.fields.push_back(field.name);
  }
}

}  // namespace

std::vector<KnownEvent> known_events(const AskedWord& line) {
  std::vector<std::string> definitions = line.values_named("event"), files;
  for (const std::string& word : line.values_named("START"))
    if (word.contains(' ')) definitions.push_back(word);  // `lat 'p libc:read' 'r libc:read'`
  for (const std::string& file : line.values_named("probes"))
    if (is_regular(file)) files.push_back(file);
  std::vector<KnownEvent> events;
  add_defined(definitions, {}, events);
  for (const std::string& file : files) add_defined({}, {file}, events);  // a wrong one spoils no other
  for (const char* name : {"input", "FILE", "A"})
    for (const std::string& path : line.values_named(name)) add_recorded(path, events);
  return events;
}

}  // namespace kevt::cli
