// Each mistake is shown at its place: the request keeps the origin of every definition, filter and trigger.
#include "cli/definitions/run_definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "cli/exit_status.h"
#include "compiler/pipeline/place_glob.h"

namespace kevt::cli {

namespace {

engine::Instance& instance_of(engine::Tracing& tracing, const InstanceTexts& texts) {
  return texts.name.empty() ? tracing.top() : *tracing.instances().find(texts.name);
}

}  // namespace

std::optional<int> RunDefinitions::define(engine::Tracing& tracing) {
  if (const auto& pids = request_.options.event_pids; !pids.empty())
    tracing.top().pids = std::set<std::int32_t>(pids.begin(), pids.end());
  if (auto failed = make_instances(tracing)) return failed;
  for (const model::EventName& name : request_.statics) {
    if (tracing.events().find(name.system, name.event)) continue;
    report_.error("there is no event `" + name.system + ":" + name.event + "` of the kernel here");
    return kNotCompiled;
  }
  const std::vector<std::string> definitions = texts_of(request_.texts.definitions);
  auto answer = tracing.define(
      {.definitions = definitions, .filters = request_.texts.filters.filters, .triggers = request_.triggers});
  if (!answer) {
    report_.error(answer.error());
    return kFailed;
  }
  serials_ = std::move(answer->serials);
  if (!answer->problems.empty()) {
    report_.problems(answer->problems, {.definitions = request_.texts.definitions,
                                        .filters = request_.texts.filters.sources,
                                        .triggers = request_.trigger_sources});
    const bool is_of_kernel = answer->where && !answer->where->pid() && !request_.options.with_kernel.empty();
    if (answer->where)
      report_.error(
          "that is so in " + answer->where->name() +
          (is_of_kernel ? ": a function without a file is the kernel's; `FILE:FUNCTION` is the program's" : ""));
  }
  if (!answer->is_defined) return kNotCompiled;
  report_globs();
  return std::nullopt;
}

void RunDefinitions::report_globs() const {
  for (std::size_t i = 0; i < serials_.size(); ++i) {
    const Source& definition = request_.texts.definitions[i];
    if (pipeline::has_place_glob(definition.text) && !serials_[i].empty())
      report_.status(
          fmt::format("`{}`: {} function{}", definition.text, serials_[i].size(), serials_[i].size() == 1 ? "" : "s"));
  }
}

std::optional<std::size_t> RunDefinitions::definition_of(const engine::CodeRefusal& refusal) const {
  const auto it = std::ranges::find_if(serials_, [&](const auto& of_definition) {
    return std::ranges::find(of_definition, refusal.serial) != of_definition.end();
  });
  if (it == serials_.end()) return std::nullopt;
  return static_cast<std::size_t>(it - serials_.begin());
}

bool RunDefinitions::is_told_of(const InstanceTexts& instance, const engine::TracedEvent& event) const {
  const model::EventName name{event.group, event.name};
  if (!instance.name.empty() || event.is_static()) return request_.tells_of(instance, name);
  const auto has_it = [&](const InstanceTexts& other) { return other.events.contains(name); };
  return request_.tells_of(instance, name) || std::ranges::none_of(request_.texts.instances, has_it);
}

std::vector<RunInstance> RunDefinitions::instances(engine::Tracing& tracing) const {
  std::vector<RunInstance> all;
  for (const InstanceTexts& texts : request_.texts.instances) {
    RunInstance& made = all.emplace_back(&instance_of(tracing, texts));
    made.output = texts.name.empty() ? request_.options.output : texts.output;
    for (const auto& [id, event] : tracing.events().events())
      if (is_told_of(texts, *event)) made.events.push_back(event.get());
  }
  return all;
}

// The names of definitions in a plain list were not read: all these events belong to the top instance.
bool RunDefinitions::is_on(const InstanceTexts& instance, const engine::TracedEvent& event) const {
  const model::EventName name{event.group, event.name};
  const auto is_counted = [&](const engine::EventTrigger& one) {
    return one.instance == instance.name && engine::names_event(one.event, event.group, event.name);
  };
  if (instance.off.contains(name) || std::ranges::any_of(request_.only_counted, is_counted)) return false;
  if (instance.events.contains(name)) return true;
  const auto has_it = [&](const InstanceTexts& other) { return other.events.contains(name); };
  return instance.name.empty() && !event.is_static() && std::ranges::none_of(request_.texts.instances, has_it);
}

std::vector<engine::EventSwitcher::InstanceEvent> RunDefinitions::to_switch_on(engine::Tracing& tracing) const {
  std::vector<engine::EventSwitcher::InstanceEvent> on;
  for (const InstanceTexts& texts : request_.texts.instances) {
    engine::Instance& instance = instance_of(tracing, texts);
    for (const auto& [id, event] : tracing.events().events())
      if (is_on(texts, *event)) on.push_back({&instance, event.get()});
  }
  return on;
}

// Other instances record stacks and choose threads as the top one does.
std::optional<int> RunDefinitions::make_instances(engine::Tracing& tracing) const {
  for (const InstanceTexts& texts : request_.texts.instances) {
    if (texts.name.empty()) continue;
    if (auto made = tracing.instances().make(texts.name); !made) {
      report_.error(std::move(made.error()).while_doing("making instance `" + texts.name + "`"));
      return kUsage;
    }
    engine::Instance& instance = *tracing.instances().find(texts.name);
    instance.options = tracing.top().options;
    instance.pids = tracing.top().pids;
  }
  return std::nullopt;
}

std::optional<int> RunDefinitions::report_left_out(std::span<const engine::CodeRefusal> left_out) const {
  std::vector<engine::Problem> problems;
  std::map<std::size_t, std::vector<const engine::CodeRefusal*>> of_globs;  // by definition
  bool goes_on = true;
  for (const engine::CodeRefusal& one : left_out) {
    const auto definition = definition_of(one);
    const bool is_of_glob = definition && one.error.errno_value() != ENOSPC &&
                            pipeline::has_place_glob(request_.texts.definitions[*definition].text);
    goes_on = goes_on && (is_of_glob || request_.options.keep_going || request_.options.follow);
    if (is_of_glob) {
      of_globs[*definition].push_back(&one);
      continue;
    }
    if (!definition) {
      report_.error(one.error);
      continue;
    }
    problems.push_back({engine::Problem::Kind::Definition, *definition,
                        diag::Diagnostic{.kind = diag::Kind::FailRegProbe,
                                         .location = diag::Location::Kevtrace,
                                         .command = one.command,
                                         .column = 0,
                                         .errno_value = one.error.errno_value(),
                                         .detail = one.error.message(),
                                         .notes = {},
                                         .fixits = {}}});
  }
  if (!problems.empty()) report_.problems(problems, {.definitions = request_.texts.definitions});
  for (const auto& [definition, refused] : of_globs) {
    const std::string& text = request_.texts.definitions[definition].text;
    const std::size_t all = serials_[definition].size();
    const std::string what = fmt::format("`{}`: {} of {} functions cannot be probed; the first of them: {}", text,
                                         refused.size(), all, refused.front()->error.message());
    if (refused.size() < all || request_.options.keep_going) {
      report_.status(what);
    } else {
      report_.error(what);
      goes_on = false;
    }
  }
  return goes_on ? std::nullopt : std::optional<int>(kFailed);
}

}  // namespace kevt::cli
