// Events that were imported, and the script they make.
//
//   write p:a f %di      →  p:a f %di          write -:a      →  gone
//   write p:a g %si      →  (a second probe of the same event)
//
// Problem: commands that act one after the other become a script that describes a state. Idea: the events are kept by
// name in the order they appeared; the script is printed from them and laid out by the formatter. A wrong definition is
// kept as it was written, and its mistake is reported, so that nothing is lost. Not here: where the commands come from
// (import_shell.cpp, boot.cpp).
#include "compiler/script/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/script/event_name.h"
#include "compiler/script/format.h"
#include "grammar/parse.h"
#include "grammar/parse_script.h"

namespace kevt::script {
namespace {

grammar::EventsFile events_file(DefinitionsFile file) {
  switch (file) {
    case DefinitionsFile::Kprobe:
      return grammar::EventsFile::Kprobe;
    case DefinitionsFile::Uprobe:
      return grammar::EventsFile::Uprobe;
    case DefinitionsFile::Synthetic:
      return grammar::EventsFile::Synthetic;
    case DefinitionsFile::Dynamic:
      return grammar::EventsFile::Dynamic;
  }
  return grammar::EventsFile::Dynamic;
}

bool holds(DefinitionsFile file, model::EventKind kind) {
  switch (file) {
    case DefinitionsFile::Kprobe:
      return kind == model::EventKind::Kprobe;
    case DefinitionsFile::Uprobe:
      return kind == model::EventKind::Uprobe;
    case DefinitionsFile::Synthetic:
      return kind == model::EventKind::Synthetic;
    case DefinitionsFile::Dynamic:
      return true;
  }
  return false;
}

bool is_named(const model::Deletion& deletion, const model::EventName& name) {
  return (!deletion.group || *deletion.group == name.system) && (!deletion.event || *deletion.event == name.event);
}

// `s:NAME …` for what synthetic_events takes as `NAME …`.
std::string dynamic_form(DefinitionsFile file, std::string_view text) {
  const std::string words(text.substr(std::min(text.find_first_not_of(" \t"), text.size())));
  return (file == DefinitionsFile::Synthetic ? "s:" : "") + words;
}

std::string in_quotes(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t'\"\\#$`") == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void ImportedEvents::write_line(DefinitionsFile file, std::string_view text, int line, ImportResult& log) {
  diag::Sink sink;
  auto statement = grammar::parse_line(text, events_file(file), sink);
  if (statement && std::holds_alternative<model::Deletion>(*statement)) {
    if (!remove(std::get<model::Deletion>(*statement)))
      log.notes.push_back({line, "deletes nothing that is defined here; left out"});
    return;
  }
  if (!statement && sink.empty()) return;  // blank
  auto named = sink.empty() ? name_definition(dynamic_form(file, text), sink) : std::nullopt;
  for (diag::Diagnostic& mistake : sink.take()) log.mistakes.push_back({line, std::move(mistake)});
  if (named) return define(std::move(named->definition), dynamic_form(file, text));
  events_.push_back(
      {.name = {}, .instance = {}, .comments = std::move(comments_), .definitions = {dynamic_form(file, text)}});
  comments_.clear();
}

void ImportedEvents::define(model::Definition definition, std::string text) {
  Event& made = event({definition.group, definition.event});
  made.definitions.push_back(std::move(text));
  made.parsed.push_back(std::move(definition));
}

bool ImportedEvents::remove(const model::Deletion& deletion) {
  const auto matches = [&](const Event& event) { return !event.parsed.empty() && is_named(deletion, event.name); };
  const auto one_of_several = [&](const Event& event) {
    return matches(event) && deletion.location && event.definitions.size() > 1;
  };
  if (std::ranges::any_of(events_, one_of_several)) return false;
  const bool is_gone = std::erase_if(events_, matches) > 0;
  if (is_gone)
    std::erase_if(events_,
                  [&](const Event& event) { return !event.instance.empty() && is_named(deletion, event.name); });
  return is_gone;
}

void ImportedEvents::clear(DefinitionsFile file) {
  const auto is_cleared = [&](const Event& event) {
    return !event.definitions.empty() &&
           (event.parsed.empty() ? file == DefinitionsFile::Dynamic : holds(file, event.parsed.front().kind));
  };
  std::vector<model::EventName> gone;
  for (const Event& event : events_)
    if (is_cleared(event)) gone.push_back(event.name);
  std::erase_if(events_, [&](const Event& event) {
    return event.instance.empty() ? is_cleared(event) : std::ranges::find(gone, event.name) != gone.end();
  });
}

std::vector<model::EventName> ImportedEvents::names_of(const std::string& system) const {
  std::vector<model::EventName> names;
  for (const Event& event : events_)
    if (event.instance.empty() && event.name.system == system) names.push_back(event.name);
  return names;
}

ImportedEvents::Instance& ImportedEvents::instance(const std::string& name) {
  const auto known = std::ranges::find(instances_, name, &Instance::name);
  return known != instances_.end() ? *known : instances_.emplace_back(Instance{.name = name, .output = {}});
}

void ImportedEvents::remove_instance(const std::string& name) {
  std::erase_if(instances_, [&](const Instance& one) { return one.name == name; });
  std::erase_if(events_, [&](const Event& event) { return event.instance == name && !name.empty(); });
}

ImportedEvents::Event& ImportedEvents::event(const model::EventName& name, const std::string& instance) {
  if (!instance.empty()) (void)this->instance(instance);
  Event* known = find(name, instance);
  if (known == nullptr) {
    events_.push_back({.name = name, .instance = instance, .comments = std::move(comments_)});
    known = &events_.back();
  }
  comments_.clear();
  return *known;
}

ImportedEvents::Event* ImportedEvents::find(const model::EventName& name, const std::string& instance) {
  const auto found = std::ranges::find_if(events_, [&](const Event& event) {
    const bool is_meant =
        event.name == name || (name.system.empty() && event.name.event == name.event && !name.event.empty());
    return is_meant && event.instance == instance;
  });
  return found == events_.end() ? nullptr : &*found;
}

// The target: the kernel if any event is the kernel's; a file if all probes lie in that file.
std::string ImportedEvents::target() const {
  bool kernel = false;
  std::set<std::string> files;
  for (const Event& event : events_) {
    const auto is_its_definition = [&](const Event& other) {
      return other.name == event.name && !other.definitions.empty();
    };
    kernel = kernel || std::ranges::none_of(events_, is_its_definition);
    for (const model::Definition& definition : event.parsed) {
      const auto* place = std::get_if<model::FilePlace>(&definition.place);
      if (place != nullptr) files.insert(place->path);
      kernel = kernel || (place == nullptr && definition.kind != model::EventKind::Synthetic);
    }
  }
  if (kernel) return "target kernel\n";
  return files.size() == 1 && files.begin()->starts_with('/') ? "target file " + in_quotes(*files.begin()) + "\n" : "";
}

std::string ImportedEvents::head() const {
  std::string text = target();
  if (options.buffer_kb) text += fmt::format("option buffer {}\n", *options.buffer_kb);
  if (options.clock) text += fmt::format("option clock {}\n", *options.clock);
  if (options.seconds) text += fmt::format("option duration {}\n", *options.seconds);
  if (options.output) text += fmt::format("option output {}\n", in_quotes(*options.output));
  return text;
}

std::string ImportedEvents::text_of(const Event& event, bool any_on) const {
  std::string text = "\n";
  for (const std::string& comment : event.comments) text += comment + "\n";
  for (const std::string& definition : event.definitions) text += definition + "\n";
  if (event.definitions.empty()) text += fmt::format("event {}/{}\n", event.name.system, event.name.event);
  if (event.filter) text += "filter " + *event.filter + "\n";
  for (const std::string& trigger : event.triggers) text += "trigger " + trigger + "\n";
  if (any_on && !event.enabled.value_or(false) && !event.name.event.empty()) text += "enable 0\n";
  return text;
}

std::string ImportedEvents::script() const {
  const bool any_on = std::ranges::any_of(events_, [](const Event& event) { return event.enabled.value_or(false); });
  std::string text = head();
  for (const Event& event : events_)
    if (event.instance.empty()) text += text_of(event, any_on);
  for (const Instance& one : instances_) {
    text += "\ninstance " + in_quotes(one.name) + (one.output ? " output " + in_quotes(*one.output) : "") + "\n";
    for (const Event& event : events_)
      if (event.instance == one.name) text += text_of(event, any_on);
  }
  for (const std::string& comment : comments_) text += comment + "\n";
  std::vector<grammar::ScriptMistake> mistakes;
  return format_script(grammar::parse_script(text, mistakes));
}

}  // namespace kevt::script
