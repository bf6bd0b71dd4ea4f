// Mistakes are shown where they were written: the request keeps the place of every definition, filter and trigger.
#include "cli/definitions/run_definitions.h"

#include <algorithm>
#include <set>

#include "cli/exit_status.h"

namespace kevt::cli {

std::optional<int> RunDefinitions::define(engine::Tracing& tracing) {
  if (const auto& pids = request_.options.event_pids; !pids.empty())
    tracing.top().pids = std::set<std::int32_t>(pids.begin(), pids.end());
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
    if (answer->where) report_.error("that is so in " + answer->where->name());
  }
  return answer->is_defined ? std::nullopt : std::optional<int>(kNotCompiled);
}

std::vector<const engine::TracedEvent*> RunDefinitions::to_record(const engine::Tracing& tracing) const {
  std::vector<const engine::TracedEvent*> events;
  for (const auto& [id, event] : tracing.events().events())
    if (!event->is_static() || request_.known_statics.contains({event->group, event->name}))
      events.push_back(event.get());
  return events;
}

std::vector<const engine::TracedEvent*> RunDefinitions::to_switch_on(const engine::Tracing& tracing) const {
  auto events = to_record(tracing);
  std::erase_if(events, [&](const engine::TracedEvent* event) {
    const model::EventName name{event->group, event->name};
    const auto is_counted = [&](const std::string& written) {
      return engine::names_event(written, event->group, event->name);
    };
    if (std::ranges::any_of(request_.only_counted, is_counted)) return true;
    return event->is_static() ? !request_.statics.contains(name) : request_.texts.off.contains(name);
  });
  return events;
}

void RunDefinitions::report_left_out(std::span<const engine::CodeRefusal> left_out) const {
  std::vector<engine::Problem> problems;
  for (const engine::CodeRefusal& one : left_out) {
    const auto it = std::ranges::find_if(serials_, [&](const auto& of_definition) {
      return std::ranges::find(of_definition, one.serial) != of_definition.end();
    });
    if (it == serials_.end()) {
      report_.error(one.error);
      continue;
    }
    problems.push_back({engine::Problem::Kind::Definition, static_cast<std::size_t>(it - serials_.begin()),
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
}

}  // namespace kevt::cli
