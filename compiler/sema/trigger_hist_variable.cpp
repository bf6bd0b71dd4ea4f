// Which variable a `$NAME` means.
//
// The problem: a name may stand for a field (`x=v:y=$x` reads v), for a variable of the event that `onmatch()`
// names, of an event written in front of it, or of any event, if only one has it:
//
//   hist:keys=id:d=val-$t0:onmatch(uprobes.tb).trace(…)      t0 of uprobes:tb, even if others have a t0
//   hist:keys=id:d=val-$t0                                   VAR_NOT_UNIQUE where two events have one
//
// The idea: look in the kernel's order. A histogram that shares another's counts by name is found by its event,
// but does not make a name ambiguous. Mirrors find_event_var() and what it calls, local_field_var_ref(),
// create_var_ref() and create_var() of kernel/trace/trace_events_hist.c, 6.1.
#include <algorithm>

#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::EventName;
using model::HistVariable;
using model::Trigger;

const HistVariable* find_by_name(const std::vector<HistVariable>& variables, std::string_view name) {
  const auto found = std::ranges::find(variables, name, &HistVariable::name);
  return found == variables.end() ? nullptr : &*found;
}

std::optional<FoundVariable> find_on(const TriggerTable& table, const EventName& event, std::string_view name) {
  for (const Trigger& trigger : table.of(event)) {
    const HistVariable* found = find_by_name(trigger.histogram.variables, name);
    if (found != nullptr) return FoundVariable{.histogram = trigger.histogram.id, .variable = found};
  }
  return std::nullopt;
}

bool shares_counts(const TriggerTable& table, const Trigger& trigger) {
  return !trigger.histogram.name.empty() && table.find_named(trigger.histogram.name)->id != trigger.id;
}

enum class Search : std::uint8_t { None, One, Several };
struct MatchResult {
  Search search = Search::None;
  std::optional<FoundVariable> variable;
};

// Looks on the events of `onmatch()`; two handlers of the same event make a name ambiguous, too.
MatchResult find_on_matched(const HistCheck& check, std::string_view name) {
  MatchResult result;
  for (const model::HistAction& action : check.hist.actions) {
    if (action.handler != model::HistHandler::OnMatch) continue;
    auto found = find_on(check.table, action.match, name);
    if (!found) continue;
    if (result.search == Search::One) return {.search = Search::Several, .variable = {}};
    result = {.search = Search::One, .variable = found};
  }
  return result;
}

std::vector<EventName> events_with(const TriggerTable& table, std::string_view name) {
  std::vector<EventName> events;
  for (const auto& [event, triggers] : table.events()) {
    const auto owns = [&](const Trigger& trigger) {
      return find_by_name(trigger.histogram.variables, name) != nullptr && !shares_counts(table, trigger);
    };
    if (std::ranges::any_of(triggers, owns)) events.push_back(event);
  }
  return events;
}

bool is_operation(std::string_view text) { return text.find_first_of("+-*/") != std::string_view::npos; }

}  // namespace

bool is_reference(std::string_view text) { return text.size() >= 2 && text.front() == '$'; }

std::optional<FoundVariable> find_variable(HistCheck& check, const std::optional<EventName>& event,
                                           std::string_view name) {
  if (event) return find_on(check.table, *event, name);
  const MatchResult matched = find_on_matched(check, name);
  if (matched.search == Search::One) return matched.variable;
  const std::vector<EventName> events = events_with(check.table, name);
  if (matched.search == Search::Several || events.size() > 1) return check.log.refuse(Kind::HistVarNotUnique, name);
  return events.empty() ? std::nullopt : find_on(check.table, events.front(), name);
}

const HistVariable* find_own_variable(const HistCheck& check, std::string_view name) {
  return find_by_name(check.hist.variables, name);
}

bool event_has_variable(const HistCheck& check, std::string_view name) {
  return find_own_variable(check, name) != nullptr || find_on(check.table, check.event, name).has_value();
}

std::optional<std::uint32_t> refer_to(HistCheck& check, const FoundVariable& variable,
                                      const std::optional<EventName>& qualifier) {
  auto& references = check.hist.references;
  for (std::uint32_t index = 0; index < references.size(); ++index) {
    const model::HistReference& known = references[index];
    if (known.histogram == variable.histogram && known.variable == variable.variable->index) return index;
  }
  if (references.size() == kMaxHistVariables) {
    return check.log.refuse_unlogged(Kind::HistTooManyRefs, variable.variable->name, ENOMEM);
  }
  references.push_back({.histogram = variable.histogram,
                        .variable = variable.variable->index,
                        .name = variable.variable->name,
                        .qualifier = qualifier,
                        .value = variable.variable->value});
  return static_cast<std::uint32_t>(references.size() - 1);
}

std::optional<std::uint32_t> make_variable(HistCheck& check) {
  if (check.variables_made == kMaxHistVariables) return std::nullopt;
  return check.variables_made++;
}

std::optional<std::string> local_field(const HistCheck& check, const std::optional<EventName>& qualifier,
                                       std::string_view reference) {
  if (!is_reference(reference) || (qualifier && *qualifier != check.event)) return std::nullopt;
  for (const VariableText& definition : check.definitions) {
    if (definition.name != reference.substr(1)) continue;
    if (!is_operation(definition.text) && !is_reference(definition.text)) return definition.text;
  }
  return std::nullopt;
}

}  // namespace kevt::sema
