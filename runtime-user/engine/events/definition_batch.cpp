// Definitions that are given together, as `kevtrace run` and scripts do:
//
//   p:a libc:open …          looked up in every target: all mistakes of all of them are told at once
//   p:b libc:nosuch          one that is wrong takes all down, or where options.keep_going is left out
//   filter a: x > 3          bound to what is right
//   trigger a: traceoff …    set when the events are there; nothing acts before switch_on()
//
// The kernel's own files take one line after the other and stop at the first mistake: DefinitionFiles.
#include "runtime-user/engine/events/definition_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "common/assert.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/trigger.h"
#include "grammar/parse_filter.h"

namespace kevt::engine {

namespace {

diag::Diagnostic mistake(diag::Kind kind, std::string command, int errno_value, std::string detail) {
  return {.kind = kind,
          .location = diag::Location::Kevtrace,
          .command = std::move(command),
          .column = 0,
          .errno_value = errno_value,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

}  // namespace

struct BatchDefiner::World {
  const TracedTarget* target = nullptr;
  const target::TargetEnv* env = nullptr;
  std::vector<Draft::Entry> entries;  // in the order of definitions
};

struct BatchDefiner::Checked {
  std::vector<World> worlds;             // of what several take the same entries, as each has them
  std::vector<std::size_t> of_existing;  // filters of events that were there before, or of other instances than the top
};

namespace {

using Worlds = std::vector<std::pair<TracedTarget*, const target::TargetEnv*>>;

// All that a definition is about has ended.
void note_what_nobody_takes(const DefinitionBatch& batch, const Worlds& worlds, BatchAnswer& answer) {
  const auto is_taken = [&](const std::string& definition) {
    return std::ranges::any_of(worlds, [&](const auto& one) { return !one.first || one.first->takes(definition); });
  };
  for (std::size_t i = 0; i < batch.definitions.size(); ++i)
    if (!is_taken(batch.definitions[i]))
      answer.problems.push_back({Problem::Kind::Definition, i,
                                 mistake(diag::Kind::FailRegProbe, batch.definitions[i], ESRCH,
                                         "nothing to trace: every traced process has ended")});
}

// The entries of one definition.
std::span<Draft::Entry> entries_of(std::vector<Draft::Entry>& entries, std::size_t definition) {
  return std::ranges::equal_range(entries, definition, {}, &Draft::Entry::index);
}

}  // namespace

// Checks the definitions in every target that takes them, since each is to have them. Where programs are followed,
// other targets come later.
BatchDefiner::Checked BatchDefiner::check(const DefinitionBatch& batch, BatchAnswer& answer) {
  Checked checked;
  Worlds worlds;
  if (!state_.options.env)
    for (TracedTarget* target : state_.code.installed().targets())
      if (target->is_alive()) worlds.emplace_back(target, &target->env());
  if (worlds.empty()) worlds.emplace_back(nullptr, state_.envs("").front());
  const bool has_both_sides = state_.has_both_sides();
  // A draft binds no filters of existing events, and one filter for each event that it defines.
  std::vector<EventFilter> filters;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < batch.filters.size(); ++i) {
    if (has_both_sides || !batch.filters[i].instance.empty() || state_.events.find_written(batch.filters[i].event)) {
      checked.of_existing.push_back(i);
      continue;
    }
    filters.push_back(batch.filters[i]);
    places.push_back(i);
  }
  note_what_nobody_takes(batch, worlds, answer);
  for (const auto& [target, env] : worlds) {
    std::vector<std::string> taken;
    std::vector<std::size_t> indexes;
    for (std::size_t i = 0; i < batch.definitions.size(); ++i) {
      if (target && !target->takes(batch.definitions[i])) continue;
      taken.push_back(batch.definitions[i]);
      indexes.push_back(i);
    }
    Draft draft(nullptr, &state_.events.catalog());
    const std::size_t before = answer.problems.size();
    draft.check(taken, filters, *env, pipeline::Forms::RunnableLater, answer.problems);
    for (std::size_t i = before; i < answer.problems.size(); ++i) {
      Problem& problem = answer.problems[i];
      problem.index = problem.kind == Problem::Kind::Filter ? places[problem.index] : indexes[problem.index];
    }
    std::vector<Draft::Entry> entries = std::move(draft.entries());
    for (Draft::Entry& entry : entries) entry.index = indexes[entry.index];
    checked.worlds.push_back({target, env, std::move(entries)});
    if (answer.problems.empty()) continue;
    if (worlds.size() > 1) answer.where = target;
    break;
  }
  return checked;
}

// With --keep-going, whose target is one, entries may be fewer than definitions.
void BatchDefiner::keep(Checked checked, BatchAnswer& answer) {
  for (std::size_t i = 0; i < answer.serials.size(); ++i) {
    const auto first =
        std::ranges::find_if(checked.worlds, [i](World& world) { return !entries_of(world.entries, i).empty(); });
    if (first == checked.worlds.end()) continue;
    for (std::size_t k = 0; k < entries_of(first->entries, i).size(); ++k) keep(checked, *first, {i, k}, answer);
  }
}

// `world`: the first one that has the entry.
void BatchDefiner::keep(Checked& checked, World& world, Place place, BatchAnswer& answer) {
  Draft::Entry& entry = entries_of(world.entries, place.definition)[place.entry];
  const std::string command = entry.written.command;  // a marker may have other places in another target
  if (const TracedEvent* known = state_.events.find(entry.event.definition.group, entry.event.definition.event);
      known && state_.is_of_other_side(*known, command)) {
    answer.problems.push_back({Problem::Kind::Definition, place.definition, of_other_side(command)});
    return;
  }
  const TracedEvent* event =
      state_.events.add(std::move(entry.written), entry.event, std::move(entry.known), *world.env);
  if (!event) {
    answer.problems.push_back(
        {Problem::Kind::Definition, place.definition,
         mistake(diag::Kind::FailRegProbe, entry.event.definition.command, ENOSPC,
                 fmt::format("more than {} events: common_type has 16 bits", kLastId - kFirstId + 1))});
    return;
  }
  const std::uint64_t serial = event->probes.back().serial;
  answer.serials[place.definition].push_back(serial);
  if (entry.filter) {
    EventState& one = state_.instances.top().state_of(event->id);
    one.filter = std::move(entry.filter);
    one.filter_text = std::string(grammar::filter_command(*entry.filter_text));
  }
  for (World& other : checked.worlds) {
    const std::span<Draft::Entry> entries = entries_of(other.entries, place.definition);
    if (!other.target || place.entry >= entries.size() || event->is_made_by_reader()) continue;
    Draft::Entry& its = entries[place.entry];
    const bool is_same = &other == &world || its.written.command == command;  // the first one's has been taken
    if (is_same && !its.event.is_deferred) state_.code.expect(*other.target, serial, std::move(its.event));
  }
}

Instance& BatchDefiner::named(std::string_view instance) const {
  if (instance.empty()) return state_.instances.top();
  Instance* const found = state_.instances.find(instance);
  KEVT_ASSERT(found);
  return *found;
}

// Binds these filters when nothing else is wrong. With --keep-going an event may have been left out, and then needs no
// filter.
std::vector<BatchDefiner::BoundFilter> BatchDefiner::bind_existing(const DefinitionBatch& batch,
                                                                   std::span<const std::size_t> filters,
                                                                   BatchAnswer& answer) const {
  std::vector<BoundFilter> bound;
  for (const std::size_t i : filters) {
    const TracedEvent* event = state_.events.find_written(batch.filters[i].event);
    if (!event) {
      if (answer.problems.empty())
        answer.problems.push_back({Problem::Kind::Filter, i, missing_event(batch.filters[i])});
      continue;
    }
    if (!batch.filters[i].instance.empty() && state_.events.is_ambiguous(batch.filters[i].event)) {
      answer.problems.push_back({Problem::Kind::Filter, i,
                                 mistake(diag::Kind::EventMissing, batch.filters[i].text, ENOENT,
                                         "several groups have `" + batch.filters[i].event + "`; write GROUP:EVENT")});
      continue;
    }
    diag::Sink sink;
    auto filter = sema::compile_filter(batch.filters[i].text, event->layout, sink, state_.options.check);
    for (diag::Diagnostic& one : sink.take()) answer.problems.push_back({Problem::Kind::Filter, i, std::move(one)});
    if (filter)
      bound.push_back({&named(batch.filters[i].instance), event, *std::move(filter),
                       std::string(grammar::filter_command(batch.filters[i].text))});
  }
  return bound;
}

// Checks each trigger as if the instance's earlier ones were set, in copies of the tables: if one is wrong, nothing is
// changed.
std::vector<BatchDefiner::BoundTrigger> BatchDefiner::check_triggers(const DefinitionBatch& batch,
                                                                     BatchAnswer& answer) const {
  std::vector<BoundTrigger> steps;
  std::map<const Instance*, sema::TriggerTable> tables;
  const auto note = [&](std::size_t i, diag::Diagnostic one) {
    answer.problems.push_back({Problem::Kind::Trigger, i, std::move(one)});
  };
  for (std::size_t i = 0; i < batch.triggers.size(); ++i) {
    const EventTrigger& trigger = batch.triggers[i];
    const TracedEvent* event = state_.events.find_written(trigger.event);
    if (!event || state_.events.is_ambiguous(trigger.event)) {
      note(i, mistake(diag::Kind::EventMissing, trigger.text, ENOENT,
                      event ? "several groups have `" + trigger.event + "`; write GROUP:EVENT"
                            : "`" + trigger.event + "` is not defined here"));
      continue;
    }
    Instance& instance = named(trigger.instance);
    sema::TriggerTable& table = tables.try_emplace(&instance, instance.triggers).first->second;
    diag::Sink sink;
    const sema::TriggerWorld world{
        .catalog = state_.events.catalog(), .table = table, .dialect = state_.options.check.dialect};
    auto change = sema::write_trigger(trigger.text, {event->group, event->name}, world, sink);
    for (diag::Diagnostic& one : sink.take()) note(i, std::move(one));
    if (!change) continue;
    for (sema::TriggerStep& step : change->steps) {
      if (const auto* added = std::get_if<sema::AddTrigger>(&step))
        if (auto can = triggers_.can_run(added->trigger, *event); !can)
          note(i, mistake(diag::Kind::NotSupportedByRuntime, trigger.text, EOPNOTSUPP, can.error().message()));
      table.apply(step);
      steps.push_back({&instance, std::move(step)});
    }
  }
  return steps;
}

// An injection needs a defined event; without a tap (a mount) the event may be defined later.
Result<void> BatchDefiner::check_injections(const DefinitionBatch& batch, const BatchAnswer& answer) const {
  if (!state_.options.is_tapped || batch.definitions.empty() || !answer.problems.empty()) return {};
  for (const EventInjection& one : state_.options.injections)
    if (!state_.events.find_written(one.event))
      return std::unexpected(Error("`" + one.event + "` is to inject and is not defined here", ENOENT));
  return {};
}

// Removes events that were just defined; no target has code of them yet.
void BatchDefiner::take_back(const BatchAnswer& answer) {
  std::set<std::uint64_t> made;
  for (const auto& of_one : answer.serials) made.insert(of_one.begin(), of_one.end());
  for (const EventTable::Match& match : state_.events.all(grammar::EventsFile::Dynamic))
    if (made.contains(match.serial) && state_.events.remove(match)) state_.instances.forget(match.event);
}

Result<BatchAnswer> BatchDefiner::define(const DefinitionBatch& batch) {
  BatchAnswer answer;
  answer.serials.resize(batch.definitions.size());
  Checked checked = check(batch, answer);
  const auto takes_all_down = [&](const Problem& problem) {
    return !state_.options.keep_going || problem.kind != Problem::Kind::Definition;
  };
  const auto is_refused = [&] { return std::ranges::any_of(answer.problems, takes_all_down); };
  const auto is_empty = [](const World& world) { return world.entries.empty(); };
  if (is_refused() || (std::ranges::all_of(checked.worlds, is_empty) && !answer.problems.empty())) return answer;
  const std::vector<std::size_t> of_existing = std::move(checked.of_existing);
  keep(std::move(checked), answer);
  std::vector<BoundFilter> filters = bind_existing(batch, of_existing, answer);
  const std::vector<BoundTrigger> triggers = check_triggers(batch, answer);
  if (auto known = check_injections(batch, answer); !known || is_refused()) {
    take_back(answer);
    if (!known) return std::unexpected(std::move(known.error()));
    return answer;
  }
  answer.is_defined = true;
  switcher_.postpone();
  for (BoundFilter& one : filters) {
    EventState& state = one.instance->state_of(one.event->id);
    state.filter = std::move(one.filter);
    state.filter_text = std::move(one.text);
    if (state_.instances.is_armed(one.event->id)) (void)switcher_.sync(std::span(&one.event, 1));
  }
  // switch_on() changes the code for them.
  for (const BoundTrigger& one : triggers) KEVT_TRY(triggers_.apply(*one.instance, one.step));
  return answer;
}

}  // namespace kevt::engine
