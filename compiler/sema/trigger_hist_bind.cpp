// What the actions of a histogram name, and the variables made for it.
//
//   onmax($d).save(val)     $d must be this histogram's own; `__max` and one for val are made
//   onchange($d).snapshot() only one histogram of an instance may take snapshots
//
// The problem: actions read variables only. For a field that an action names a variable is made, which may fail for
// reasons of its own: then 6.1 logs each step it gave up, innermost first.
// The idea: one function for each action, in the order in which 6.1 creates them; trace actions, which may
// need histograms on other events, have a file of their own. Mirrors create_actions(), track_data_create(),
// create_field_var() and action_create() of kernel/trace/trace_events_hist.c, 6.1.
#include <algorithm>
#include <utility>

#include "compiler/sema/trigger_hist.h"
#include "compiler/sema/trigger_hist_bind.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::HistAction;
using model::HistActionKind;
using model::HistHandler;

bool has_snapshot(const model::Histogram& hist) {
  return std::ranges::find(hist.actions, HistActionKind::Snapshot, &HistAction::kind) != hist.actions.end();
}

// Whether another histogram, or an earlier action of this one, takes snapshots already.
bool is_snapshot_taken(const HistCheck& check, const HistAction& action) {
  for (const HistAction& earlier : check.hist.actions) {
    if (&earlier == &action) break;
    if (earlier.kind == HistActionKind::Snapshot) return true;
  }
  for (const auto& [event, triggers] : check.table.events()) {
    if (std::ranges::any_of(triggers, has_snapshot, &model::Trigger::histogram)) return true;
  }
  return false;
}

bool has_saved(const HistCheck& check) {
  return std::ranges::any_of(check.hist.actions, [](const HistAction& action) { return !action.saved.empty(); });
}

bool create_save(HistCheck& check, HistAction& action) {
  if (has_saved(check)) {
    check.log.refuse(Kind::HistTooManySaveActions, "", EEXIST);
    return false;
  }
  for (const std::string& param : action.params) {
    std::string_view field = param;
    auto variable = make_field_variable(check, field);
    if (!variable) {
      check.log.add(Kind::HistFieldVarCreateFail, field);
      return false;
    }
    action.saved.push_back(*std::move(variable));
  }
  return true;
}

bool create_snapshot(HistCheck& check, const HistAction& action) {
  if (!is_snapshot_taken(check, action)) return true;
  check.log.refuse_unlogged(Kind::HistSnapshotTaken, action.name, EBUSY);
  return false;
}

bool create_action(HistCheck& check, HistAction& action) {
  switch (action.kind) {
    case HistActionKind::Trace:
      return create_trace_action(check, action);
    case HistActionKind::Save:
      return create_save(check, action);
    case HistActionKind::Snapshot:
      return create_snapshot(check, action);
  }
  std::unreachable();
}

// Binds the variable of onmax() or onchange(), and makes one more for the value seen so far.
bool bind_tracked(HistCheck& check, HistAction& action) {
  const std::string_view name = action.tracked;
  if (!name.starts_with('$')) {
    check.log.refuse(Kind::HistOnxNotVar, name);
    return false;
  }
  const model::HistVariable* variable = find_own_variable(check, name.substr(1));
  if (variable == nullptr) {
    check.log.refuse(Kind::HistOnxVarNotFound, name.substr(1));
    return false;
  }
  const auto reference = refer_to(check, {.histogram = check.hist.id, .variable = variable}, std::nullopt);
  if (!reference) return false;
  const auto tracker = make_variable(check);
  if (!tracker) {
    check.log.refuse(Kind::HistOnxVarCreateFail, "");
    return false;
  }
  action.tracked_value = *reference;
  action.tracker = *tracker;
  return true;
}

}  // namespace

std::optional<model::HistVariable> make_field_variable(HistCheck& check, std::string_view& field) {
  if (check.hist.field_variables.size() == kMaxActionFields) {
    return check.log.refuse(Kind::HistTooManyFieldVars, field);
  }
  auto [value, cut] = read_hist_operand(check, field, HistRole::Variable);
  field = field.substr(0, cut);
  if (!value) {
    check.log.add(Kind::HistFieldVarParseFail, field);
    return std::nullopt;
  }
  const auto index = event_has_variable(check, field) ? std::nullopt : make_variable(check);
  if (!index) return check.log.refuse(Kind::HistVarCreateFindFail, field);
  return model::HistVariable{.index = *index, .name = std::string(field), .value = *std::move(value)};
}

bool create_hist_actions(HistCheck& check) {
  for (HistAction& action : check.hist.actions) {
    if (action.handler != HistHandler::OnMatch && !bind_tracked(check, action)) return false;
    if (!create_action(check, action)) return false;
  }
  return true;
}

}  // namespace kevt::sema
