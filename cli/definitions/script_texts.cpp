// Turns files into the texts that the verbs work with.
//
//   p:a f x=%di          definitions[0], names[0] = kprobes/a
//     filter x > 3       filters: kprobes/a, "x > 3"
//     enable 0           off: kprobes/a
//   event sched/x        foreign_events[0]
//   instance errors      instances[1]: what follows is in it
//
// Problem: filters and triggers belong to an event, whose name may be generated, repeated or unknown here. Idea: every
// definition is named as soon as it is read; filters and triggers of a wrong definition are left out, since the mistake
// is reported anyway. Filters of foreign events are read for their form only. Not here: judging definitions
// (check_pass.cpp), and what a target means (cmd_run.cpp).
#include "cli/definitions/script_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cli/definitions/fix_files.h"
#include "cli/definitions/injections.h"
#include "common/error.h"
#include "common/print.h"
#include "compiler/pipeline/shorthand.h"
#include "compiler/script/event_name.h"
#include "grammar/parse.h"
#include "grammar/parse_script.h"

namespace kevt::cli {
namespace {

class Collector {
 public:
  explicit Collector(const TextsRequest& request) : request_(request) {}

  Result<Texts> collect() {
    auto words = KEVT_TRY(collect_definitions(request_.definitions, {}));
    for (Source& source : words) add_definition(std::move(source), "");
    KEVT_TRY(add_instances());
    for (const std::string& name : request_.files) {
      auto text = read_whole(name);
      if (!text) return std::unexpected(std::move(text.error()));
      const std::string origin = name == "-" ? "<stdin>" : name;
      if (script::is_compiled_script(*text)) {
        auto compiled = script::read_compiled_script(*text);
        if (!compiled) return std::unexpected(std::move(compiled.error()).while_doing("reading `" + origin + "`"));
        *text = compiled->text;
        texts_.compiled.push_back(*std::move(compiled));
        texts_.compiled_names.push_back(origin);
      }
      add_script(*text, origin);
      texts_.scripts.push_back(*std::move(text));
    }
    auto filters = KEVT_TRY(collect_filters(request_.filters));
    merge_filters(std::move(filters), "");
    for (const InstanceOptions& one : request_.instances) KEVT_TRY(merge_filters_of(one));
    return std::move(texts_);
  }

 private:
  Result<void> add_instances();
  Result<void> merge_filters_of(const InstanceOptions& instance);
  std::optional<model::EventName> add_definition(Source source, std::string_view body);
  void add_script(const std::string& text, const std::string& origin);
  void add_head(const model::Script& script);
  void add_event(const model::Script& script, const model::ScriptEvent& event);
  std::optional<model::EventName> resolve(const model::ScriptLine& line);
  void attach(const model::Script& script, const model::ScriptEvent& event, const model::EventName& name);
  void add_filter(const model::ScriptLine& line, const model::EventName& name);
  bool is_defined(const model::EventName& name) const {
    return std::ranges::find(texts_.names, std::optional(name)) != texts_.names.end();
  }
  void merge_filters(Filters filters, const std::string& instance);
  void use_instance(const model::Script& script, const model::ScriptEvent& event);
  Source source_of(const model::ScriptLine& line) const { return {line.text, origin_, line.number}; }
  void mistake(diag::Kind kind, const model::ScriptLine& line, std::string detail) {
    texts_.mistakes.push_back(
        locate(grammar::script_mistake(kind, line.text, line.body.begin, std::move(detail)), source_of(line)));
  }

  const TextsRequest& request_;
  Texts texts_;
  std::string origin_;
  bool needs_names_ = true;  // false: a plain list of definitions, which may be long
  std::string instance_;     // the instance of the present lines
  std::set<std::pair<std::string, model::EventName>> filtered_;  // of each instance
  std::set<model::EventName> injected_;
};

// `body` is for naming; empty: the source's text.
std::optional<model::EventName> Collector::add_definition(Source source, std::string_view body) {
  auto named =
      needs_names_ ? script::name_definition(body.empty() ? source.text : body, request_.dialect) : std::nullopt;
  texts_.definitions.push_back(std::move(source));
  texts_.names.push_back(named ? std::optional(std::move(named->name)) : std::nullopt);
  if (auto event = pipeline::shorthand_event(texts_.definitions.back().text)) texts_.names.back() = *std::move(event);
  if (texts_.names.back()) texts_.instance(instance_).events.insert(*texts_.names.back());
  return texts_.names.back();
}

Result<void> Collector::add_instances() {
  for (const InstanceOptions& one : request_.instances) {
    texts_.instance(one.name).output = one.output;
    auto words = KEVT_TRY(collect_definitions(one.definitions, {}));
    instance_ = one.name;
    for (Source& source : words) {
      source.origin.insert(1, one.name + ": ");
      add_definition(std::move(source), "");
    }
  }
  instance_.clear();
  return {};
}

Result<void> Collector::merge_filters_of(const InstanceOptions& instance) {
  auto filters = KEVT_TRY(collect_filters(instance.filters));
  for (engine::EventFilter& filter : filters.filters) filter.instance = instance.name;
  for (Source& source : filters.sources) source.origin.insert(1, instance.name + ": ");
  merge_filters(std::move(filters), instance.name);
  return {};
}

void Collector::use_instance(const model::Script& script, const model::ScriptEvent& event) {
  instance_ = event.instance ? script.instances[*event.instance].name : "";
}

void Collector::add_script(const std::string& text, const std::string& origin) {
  origin_ = origin;
  std::vector<grammar::ScriptMistake> mistakes;
  const model::Script script = grammar::parse_script(text, mistakes);
  std::set<int> wrong_lines;
  for (grammar::ScriptMistake& one : mistakes) {
    wrong_lines.insert(one.line);
    const std::string& line = script.lines[static_cast<std::size_t>(one.line) - 1].text;
    texts_.mistakes.push_back(locate(std::move(one.diagnostic), {line, origin, one.line}));
  }
  add_head(script);
  needs_names_ = request_.needs_names || request_.files.size() > 1 || !request_.instances.empty() ||
                 std::ranges::any_of(script.lines, [](const model::ScriptLine& line) {
                   return line.word == model::ScriptWord::Event || line.word == model::ScriptWord::Instance ||
                          model::is_attached(line.word);
                 });
  const std::vector<grammar::Line> cut = grammar::split_lines(text);
  auto event = script.events.begin();
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const model::ScriptLine& line = script.lines[i];
    const bool begins_event = event != script.events.end() && event->line == i;
    if (begins_event) use_instance(script, *event);
    if (line.word == model::ScriptWord::Definition && !wrong_lines.contains(line.number)) {
      const auto name = add_definition({std::string(cut[i].text), origin, line.number}, line.body_text());
      if (begins_event && name) attach(script, *event, *name);
    } else if (begins_event) {
      add_event(script, *event);
    }
    if (begins_event) ++event;
  }
}

// Takes target, options and instances. A value that an earlier file has set is a mistake.
void Collector::add_head(const model::Script& script) {
  if (script.target) {
    const model::ScriptLine& line = script.lines[script.target_line];
    if (texts_.target) {
      mistake(diag::Kind::ScriptTwice, line, "by " + texts_.target_source.origin);
    } else {
      texts_.target = script.target;
      texts_.target_source = source_of(line);
    }
  }
  for (const std::size_t index : script.option_lines) {
    const model::ScriptLine& line = script.lines[index];
    const std::string_view body = line.body_text();
    const std::string name(body.substr(0, body.find_first_of(" \t")));
    if (const auto [known, fresh] = texts_.option_sources.try_emplace(name, source_of(line)); !fresh)
      mistake(diag::Kind::ScriptTwice, line, "by " + known->second.origin);
  }
  texts_.options.take_missing(script.options);
  for (const model::ScriptInstance& one : script.instances) {
    InstanceTexts& made = texts_.instance(one.name);
    if (one.output && made.output_source)
      mistake(diag::Kind::ScriptTwice, script.lines[one.line],
              fmt::format("`{}` has the output of line {}", one.name, made.output_source->line));
    if (!one.output || !made.output.empty()) continue;  // the command line wins
    made.output = *one.output;
    made.output_source = source_of(script.lines[one.line]);
  }
}

std::optional<model::EventName> Collector::resolve(const model::ScriptLine& line) {
  const model::EventName name = script::split_event_name(line.body_text());
  if (!name.system.empty()) return name;
  std::set<model::EventName> found;
  for (const auto& one : texts_.names)
    if (one && one->event == name.event) found.insert(*one);
  if (found.size() == 1) return *found.begin();
  mistake(diag::Kind::ScriptBadEvent, line,
          found.empty() ? "`" + name.event + "` is not defined above" : "several groups have `" + name.event + "`");
  return std::nullopt;
}

void Collector::add_event(const model::Script& script, const model::ScriptEvent& event) {
  const model::ScriptLine& line = script.lines[event.line];
  const auto name = resolve(line);
  if (!name) return;
  if (!is_defined(*name)) {
    const bool process = texts_.target && !std::holds_alternative<model::KernelTarget>(*texts_.target);
    if (process) return mistake(diag::Kind::EventMissing, line, "a process has only those that are defined here");
    texts_.foreign_events.push_back({*name, source_of(line)});
  }
  texts_.instance(instance_).events.insert(*name);
  attach(script, event, *name);
}

void Collector::attach(const model::Script& script, const model::ScriptEvent& event, const model::EventName& name) {
  if (event.filter) add_filter(script.lines[*event.filter], name);
  for (const std::size_t trigger : event.triggers) {
    texts_.triggers.push_back({name, std::string(script.lines[trigger].body_text()), instance_});
    texts_.trigger_sources.push_back(source_of(script.lines[trigger]));
  }
  if (event.injection) {
    const model::ScriptLine& line = script.lines[*event.injection];
    if (!injected_.insert(name).second) return mistake(diag::Kind::ScriptTwice, line, "the event has an injection");
    auto injection = read_injection(line.body_text());
    if (!injection) return mistake(diag::Kind::ScriptBadValue, line, injection.error().message());
    texts_.injections.push_back({name.system + "/" + name.event, *injection});
    texts_.injection_sources.push_back(source_of(line));
  }
  if (!event.enabled) texts_.instance(instance_).off.insert(name);
}

void Collector::add_filter(const model::ScriptLine& line, const model::EventName& name) {
  if (!filtered_.insert({instance_, name}).second)
    return mistake(diag::Kind::ScriptTwice, line, "the event has a filter; join them with `&&`");
  if (is_defined(name)) {
    texts_.filters.filters.push_back({name.system + "/" + name.event, std::string(line.body_text()), instance_});
    texts_.filters.sources.push_back(source_of(line));
    return;
  }
  texts_.foreign_filters.filters.push_back({name.system + "/" + name.event, std::string(line.body_text()), instance_});
  texts_.foreign_filters.sources.push_back(source_of(line));
  diag::Sink sink;
  grammar::parse_filter(line.body_text(), sink, request_.dialect);
  for (diag::Diagnostic& one : sink.take()) texts_.mistakes.push_back(locate(std::move(one), source_of(line)));
}

void Collector::merge_filters(Filters filters, const std::string& instance) {
  Filters& all = texts_.filters;
  Filters kept;
  for (std::size_t i = 0; i < all.filters.size(); ++i) {
    const model::EventName name = script::split_event_name(all.filters[i].event);
    const bool replaced = all.filters[i].instance == instance &&
                          std::ranges::any_of(filters.filters, [&](const engine::EventFilter& filter) {
                            return engine::names_event(filter.event, name.system, name.event);
                          });
    if (replaced) continue;
    kept.filters.push_back(std::move(all.filters[i]));
    kept.sources.push_back(std::move(all.sources[i]));
  }
  std::ranges::move(filters.filters, std::back_inserter(kept.filters));
  std::ranges::move(filters.sources, std::back_inserter(kept.sources));
  all = std::move(kept);
}

}  // namespace

InstanceTexts& Texts::instance(const std::string& name) {
  const auto known = std::ranges::find(instances, name, &InstanceTexts::name);
  if (known != instances.end()) return *known;
  instances.emplace_back().name = name;
  return instances.back();
}

bool Texts::is_empty() const {
  return definitions.empty() && foreign_events.empty() && mistakes.empty() && !target && option_sources.empty();
}

Result<Texts> collect_texts(const TextsRequest& request) { return Collector(request).collect(); }

void sort_mistakes(std::vector<diag::Located>& mistakes, const std::vector<std::string>& files) {
  const auto key = [&](const diag::Located& one) {
    const std::string name = one.origin == "<stdin>" ? "-" : one.origin;
    const auto file = std::ranges::find(files, name);
    if (file != files.end()) return std::pair(file - files.begin(), one.line);
    return std::pair(one.origin.starts_with("<event") ? std::ptrdiff_t{-1} : std::ssize(files), 0);
  };
  std::ranges::stable_sort(mistakes, {}, key);
}

void show_mistakes(const Reporter& report, std::vector<diag::Located> mistakes, std::size_t definitions) {
  if (report.is_object()) {
    return report.object({.tool_version = KEVT_VERSION,
                          .definitions = static_cast<std::uint32_t>(definitions),
                          .mistakes = std::move(mistakes)},
                         messages());
  }
  for (const diag::Located& mistake : mistakes) report.diagnostic(mistake);
}

diag::Located mistake_at(diag::Kind kind, const Source& source, std::string detail) {
  const std::size_t word = source.text.find_first_not_of(" \t");
  const std::size_t blank = std::min(source.text.find_first_of(" \t", word), source.text.size());
  const std::size_t body = std::min(source.text.find_first_not_of(" \t", blank), source.text.size());
  return locate(grammar::script_mistake(kind, source.text, body, std::move(detail)), source);
}

}  // namespace kevt::cli
