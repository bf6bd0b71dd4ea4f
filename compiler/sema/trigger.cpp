// What a write to an event's `trigger` file does.
//
//   traceoff:5 if a > 3          sets one; EEXIST if the event has a traceon or traceoff
//   !traceon                     removes either; removing what is not there is fine
//   enable_event:sched:sched_switch   one for each target; enabling and disabling are one kind
//
// The problem: what a line does depends on what is set, and 6.1 looks at a removal before the count and the filter,
// at the target before both. The idea: an answer in steps over a table that stays as it is, so that a refused
// write leaves no trace. Mirrors event_trigger_parse(), event_enable_trigger_parse() and the register functions
// of kernel/trace/trace_events_trigger.c, 6.1. Histograms: trigger_hist.cpp. Not here: acting.
#include "compiler/sema/trigger.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/assert.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/trigger_hist.h"
#include "grammar/parse.h"
#include "grammar/parse_trigger_hist.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::EventName;
using model::Trigger;
using model::TriggerKind;
using model::TriggerSpec;

// Classes of kinds: an event, or an event together with a target, has at most one trigger of each class but Hist.
enum class TriggerClass : std::uint8_t { OnOff, Snapshot, Stacktrace, EventSwitch, HistSwitch, Hist };

TriggerClass class_of(TriggerKind kind) {
  switch (kind) {
    case TriggerKind::TraceOn:
    case TriggerKind::TraceOff:
      return TriggerClass::OnOff;
    case TriggerKind::Snapshot:
      return TriggerClass::Snapshot;
    case TriggerKind::Stacktrace:
      return TriggerClass::Stacktrace;
    case TriggerKind::EnableEvent:
    case TriggerKind::DisableEvent:
      return TriggerClass::EventSwitch;
    case TriggerKind::EnableHist:
    case TriggerKind::DisableHist:
      return TriggerClass::HistSwitch;
    case TriggerKind::Hist:
      return TriggerClass::Hist;
  }
  std::unreachable();
}

bool has_target(TriggerKind kind) {
  const TriggerClass one = class_of(kind);
  return one == TriggerClass::EventSwitch || one == TriggerClass::HistSwitch;
}

void refuse(const TriggerSpec& spec, Kind kind, int errno_value, diag::Sink& sink) {
  sink.report({.kind = kind,
               .location = diag::Location::Kevtrace,
               .command = spec.command,
               .column = 0,
               .errno_value = errno_value,
               .logged = false,
               .prelude = {},
               .detail = {},
               .notes = {},
               .fixits = {}});
}

// Reports that the target event does not exist, with the caret at the target.
void refuse_target(const TriggerSpec& spec, const EventName& target, diag::Sink& sink) {
  const std::string text = target.system + ":" + target.event;
  const std::size_t found = spec.command.find(text);
  sink.report({.kind = Kind::TriggerEventMissing,
               .location = diag::Location::Kevtrace,
               .command = spec.command,
               .column = static_cast<std::uint32_t>(found == std::string::npos ? 0 : found),
               .errno_value = EINVAL,
               .logged = false,
               .prelude = {},
               .detail = "`" + text + "`",
               .notes = {},
               .fixits = {}});
}

const Trigger* find_same(const Trigger& made, const EventName& event, const TriggerTable& table) {
  for (const Trigger& other : table.of(event)) {
    if (class_of(other.kind) == class_of(made.kind) && other.target == made.target) return &other;
  }
  return nullptr;
}

bool bind_filter(const TriggerSpec& spec, const target::CatalogEntry& entry, const TriggerWorld& world, Trigger& made,
                 diag::Sink& sink) {
  if (!spec.filter) return true;
  diag::Sink mistakes;
  made.filter = spec.filter;
  made.condition = compile_trigger_filter(*spec.filter, entry.layout, world.dialect, mistakes);
  for (diag::Diagnostic& mistake : mistakes.take()) sink.report(std::move(mistake));
  return made.condition.has_value();
}

std::optional<TriggerChange> check_simple(const TriggerSpec& spec, const EventName& event, const TriggerWorld& world,
                                          diag::Sink& sink) {
  TriggerTable table = world.table;
  Trigger made{.id = table.take_id(), .kind = spec.kind, .count = spec.count};
  if (has_target(spec.kind)) {
    made.target = {spec.target_system, spec.target_event};
    if (world.catalog.find(spec.target_system, spec.target_event) == nullptr) {
      refuse_target(spec, made.target, sink);
      return std::nullopt;
    }
  }
  const Trigger* same = find_same(made, event, table);
  TriggerChange change;
  if (spec.remove) {
    if (same != nullptr) change.steps.push_back(RemoveTrigger{event, same->id});
    return change;
  }
  if (spec.count_errno != 0) {
    refuse(spec, Kind::TriggerBadCount, spec.count_errno, sink);
    return std::nullopt;
  }
  if (!bind_filter(spec, *world.catalog.find(event.system, event.event), world, made, sink)) return std::nullopt;
  if (same != nullptr) {
    refuse(spec, Kind::TriggerExists, EEXIST, sink);
    return std::nullopt;
  }
  change.steps.push_back(AddTrigger{event, std::move(made)});
  return change;
}

std::optional<TriggerChange> check_histogram(const TriggerSpec& spec, const EventName& event, const TriggerWorld& world,
                                             diag::Sink& sink) {
  TriggerTable table = world.table;
  TriggerChange change;
  HistLog log(grammar::hist_command(spec.command));
  HistCheck check{.catalog = world.catalog,
                  .table = table,
                  .steps = change.steps,
                  .log = log,
                  .event = event,
                  .entry = *world.catalog.find(event.system, event.event),
                  .purpose = spec.remove ? HistPurpose::Remove : HistPurpose::Add,
                  .dialect = world.dialect};
  if (!write_histogram(check, spec)) {
    log.report(sink);
    return std::nullopt;
  }
  change.remarks = log.remarks();
  return change;
}

}  // namespace

std::optional<model::FilterExpr> compile_trigger_filter(std::string_view text, const model::RecordLayout& layout,
                                                        dialect::Dialect dialect, diag::Sink& sink) {
  diag::Sink mistakes;
  auto condition = compile_filter(text, layout, mistakes, {.dialect = dialect, .newer_forms = NewerForms::Judged});
  for (diag::Diagnostic& mistake : mistakes.take()) {
    mistake.logged = mistake.logged && dialect.has(dialect::Feature::TriggerFilterLogged);
    sink.report(std::move(mistake));
  }
  return condition;
}

std::optional<TriggerChange> check_trigger(const TriggerSpec& spec, const EventName& event, const TriggerWorld& world,
                                           diag::Sink& sink) {
  KEVT_ASSERT(world.catalog.find(event.system, event.event) != nullptr);
  return spec.kind == TriggerKind::Hist ? check_histogram(spec, event, world, sink)
                                        : check_simple(spec, event, world, sink);
}

namespace {

// Mirrors last_cmd_set() of trace_events_hist.c.
void name_event(diag::Diagnostic& mistake, const EventName& event) {
  if (mistake.location == diag::Location::Hist) mistake.event = event.system + ":" + event.event;
}

}  // namespace

std::optional<TriggerChange> write_trigger(std::string_view text, const EventName& event, const TriggerWorld& world,
                                           diag::Sink& sink) {
  diag::Sink mistakes;
  const auto spec = grammar::parse_trigger(text, mistakes, world.dialect);
  auto change = spec ? check_trigger(*spec, event, world, mistakes) : std::nullopt;
  for (diag::Diagnostic& mistake : mistakes.take()) {
    name_event(mistake, event);
    sink.report(std::move(mistake));
  }
  if (change)
    for (diag::Diagnostic& remark : change->remarks) name_event(remark, event);
  return change;
}

std::vector<TriggerStep> truncate_triggers(const EventName& event, const TriggerTable& table) {
  TriggerTable left = table;
  std::vector<TriggerStep> steps;
  const std::vector<Trigger> triggers(table.of(event).begin(), table.of(event).end());
  const bool in_use = std::ranges::any_of(triggers, [&](const Trigger& trigger) {
    return trigger.kind == TriggerKind::Hist && table.is_referred_to(trigger.histogram);
  });
  for (const Trigger& trigger : triggers) {
    if (trigger.kind == TriggerKind::Hist && !in_use) remove_histogram(left, steps, event, trigger.id);
    if (class_of(trigger.kind) == TriggerClass::HistSwitch) steps.push_back(RemoveTrigger{event, trigger.id});
  }
  return steps;
}

}  // namespace kevt::sema
