// trace() actions: the parameters of a synthetic event.
//
//   onmatch(uprobes.tb).trace(tsyn, id, $d, uprobes.tb.val)
//     id                a field of this event: a variable `id` is made here; else one of uprobes:tb
//     $d                a variable of this histogram, else of one on uprobes:tb
//     uprobes.tb.val    made there, by a helper: `hist:keys=id:synthetic_val=val`
//
// The problem: each parameter must end as a variable whose type fits the synthetic event's field. A helper needs a
// histogram on the other event whose keys have the same types, and takes its keys and filter.
// The idea: try the places in the kernel's order; what was tried in vain stays in the log, even where a later place
// does. Mirrors trace_action_create(), create_field_var_hist() and check_synth_field() of
// kernel/trace/trace_events_hist.c, 6.1. Where 6.1 would follow a null pointer (keys that are no field), the
// helper is refused.
#include <algorithm>

#include "compiler/sema/trigger_hist.h"
#include "compiler/sema/trigger_hist_bind.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::EventName;
using model::HistAction;
using model::HistField;
using model::HistSource;

constexpr std::string_view kSyntheticGroup = "synthetic";

// ---- parameters -----------------------------------------------------------------------------------

struct Param {
  std::optional<EventName> qualifier;
  std::string_view name;  // with '$'
};

std::optional<Param> read_param(HistCheck& check, std::string_view text) {
  std::optional<std::string_view> rest = text;
  const std::string_view system = cut_at(rest, '.');
  if (!rest) return Param{.qualifier = {}, .name = text};
  const std::string_view event = cut_at(rest, '.');
  if (!rest) return check.log.refuse_unlogged(Kind::HistBadParam, text, EINVAL);
  return Param{.qualifier = EventName{std::string(system), std::string(event)}, .name = *rest};
}

bool means_own_event(const HistCheck& check, const Param& param) {
  return !param.qualifier || *param.qualifier == check.event;
}

// The event to look at if this event has no such variable or field.
std::optional<EventName> other_event(const HistAction& action, const Param& param) {
  if (param.qualifier || action.handler != model::HistHandler::OnMatch) return param.qualifier;
  return action.match;
}

// A parameter that was bound to a variable: the reference, and the value that the synthetic field gets.
struct BoundParam {
  std::uint32_t reference = 0;
  HistField value;
};

std::optional<BoundParam> bind(HistCheck& check, const FoundVariable& variable, HistField value, const Param& param) {
  const auto reference = refer_to(check, variable, param.qualifier);
  if (!reference) return std::nullopt;
  return BoundParam{.reference = *reference, .value = std::move(value)};
}

std::optional<FoundVariable> find_param_variable(HistCheck& check, const HistAction& action, const Param& param) {
  const std::string_view name = param.name.substr(1);
  if (means_own_event(check, param)) {
    const model::HistVariable* own = find_own_variable(check, name);
    if (own != nullptr) return FoundVariable{.histogram = check.hist.id, .variable = own};
  }
  const auto found = find_variable(check, other_event(action, param), name);
  if (!found) return check.log.refuse(Kind::HistParamNotFound, name);
  return found;
}

std::optional<FoundVariable> make_param_variable(HistCheck& check, const HistAction& action, const Param& param) {
  if (means_own_event(check, param)) {
    std::string_view field = param.name;
    if (auto made = make_field_variable(check, field)) {
      made->value.is_signed = false;  // 6.1 forgets the sign of these
      check.hist.field_variables.push_back(*std::move(made));
      return FoundVariable{.histogram = check.hist.id, .variable = &check.hist.field_variables.back()};
    }
  }
  const auto event = other_event(action, param);
  auto made = event ? make_remote_variable(check, *event, param.name) : std::nullopt;
  if (!made) check.log.answer(EINVAL);
  return made;
}

// ---- types ----------------------------------------------------------------------------------------

bool fits(const model::RecordField& field, const HistField& value) {
  const std::string_view type = field.type.text;
  const bool is_text = type.contains("char[");
  const bool is_dynamic = type.ends_with("[]");
  if (is_text && is_dynamic && value.type.contains("char[")) return true;
  const bool is_stack = !is_text && type.contains("long[");
  // A variable that is another's (`s=$st`) has the type of what it holds. Before 6.4 no variable holds a stack.
  const bool is_value_stack = value.source == HistSource::Stacktrace || value.type.contains("long[");
  if (is_stack || is_value_stack) return is_stack && is_value_stack;
  if (type == value.type) return true;
  return field.size == value.bytes && (is_text || field.is_signed == value.is_signed);
}

// ---- helpers on other events ------------------------------------------------------------------------

bool same_key_types(const std::vector<HistField>& one, const std::vector<HistField>& other) {
  return std::ranges::equal(one, other, [](const HistField& a, const HistField& b) {
    return a.type == b.type && a.bytes == b.bytes && a.is_signed == b.is_signed;
  });
}

const model::Trigger* find_compatible(const HistCheck& check, const EventName& event) {
  for (const model::Trigger& trigger : check.table.of(event)) {
    if (trigger.kind != model::TriggerKind::Hist) continue;
    if (same_key_types(trigger.histogram.keys, check.hist.keys)) return &trigger;
  }
  return nullptr;
}

bool is_plain_field(const HistField& key) { return key.source == HistSource::Field || key.name == "cpu"; }

std::optional<std::string> helper_text(const model::Trigger& like, std::string_view field) {
  constexpr std::size_t kMaxText = 255;
  std::string text = "keys=";
  for (const HistField& key : like.histogram.keys) {
    if (!is_plain_field(key)) return std::nullopt;
    text += (text.ends_with('=') ? "" : ",") + key.name;
  }
  text += ":synthetic_" + std::string(field) + "=" + std::string(field);
  if (like.filter) text += " if " + *like.filter;
  if (text.size() > kMaxText) return std::nullopt;
  return "hist:" + text;
}

bool set_helper(HistCheck& check, const EventName& event, const std::string& text) {
  diag::Sink unheard;
  const auto spec = grammar::parse_trigger(text, unheard, check.dialect);
  if (!spec) return false;
  HistCheck helper{.catalog = check.catalog,
                   .table = check.table,
                   .steps = check.steps,
                   .log = check.log,
                   .event = event,
                   .entry = *check.catalog.find(event.system, event.event),
                   .dialect = check.dialect};
  if (!write_histogram(helper, *spec)) return false;
  check.hist.helpers.push_back(helper.hist.id);
  return true;
}

std::optional<BoundParam> create_param(HistCheck& check, const HistAction& action, const Param& param) {
  const bool is_variable = param.name.starts_with('$');
  const auto variable =
      is_variable ? find_param_variable(check, action, param) : make_param_variable(check, action, param);
  if (!variable) return std::nullopt;
  return bind(check, *variable, variable->variable->value, param);
}

}  // namespace

std::optional<FoundVariable> make_remote_variable(HistCheck& check, const EventName& event, std::string_view field) {
  HistLog& log = check.log;
  if (check.hist.helpers.size() == kMaxActionFields) return log.refuse(Kind::HistTooManyFieldVars, field);
  if (check.catalog.find(event.system, event.event) == nullptr) return log.refuse(Kind::HistEventFileNotFound, field);
  const model::Trigger* like = find_compatible(check, event);
  if (like == nullptr) return log.refuse(Kind::HistHistNotFound, field);
  const std::string name = "synthetic_" + std::string(field);
  if (const auto known = find_variable(check, event, name)) return known;
  const auto text = helper_text(*like, field);
  if (!text) return log.refuse_unlogged(Kind::HistHistCreateFail, field, EINVAL);
  if (!set_helper(check, event, *text)) return log.refuse(Kind::HistHistCreateFail, field);
  const auto made = find_variable(check, event, name);
  if (!made) return log.refuse(Kind::HistSynthVarNotFound, field);
  return made;
}

bool create_trace_action(HistCheck& check, HistAction& action) {
  const target::CatalogEntry* event = check.catalog.find(kSyntheticGroup, action.synthetic_event);
  if (event == nullptr || event->owner != target::EventOwner::Synthetic) {
    check.log.refuse(Kind::HistSynthEventNotFound, action.synthetic_event);
    return false;
  }
  const auto& fields = event->layout.fields;
  for (const std::string& text : action.params) {
    const auto param = read_param(check, text);
    const auto bound = param ? create_param(check, action, *param) : std::nullopt;
    if (!bound) return false;
    if (action.values.size() == fields.size() || !fits(fields[action.values.size()], bound->value)) {
      check.log.refuse(Kind::HistSynthTypeMismatch, param->name);
      return false;
    }
    action.values.push_back(bound->reference);
  }
  if (action.values.size() == fields.size()) return true;
  check.log.refuse(Kind::HistSynthCountMismatch, action.synthetic_event);
  return false;
}

}  // namespace kevt::sema
