// A trigger as its file lists it.
//
//   traceoff:count=5 if a > 3            enable_event:sched:sched_switch:unlimited
//   hist:keys=i.hex:vals=hitcount,v:d=val-$t0:sort=v.descending:size=256:clock=global:onmax($d).save(v) [active]
//
// The problem: readers compare these lines byte by byte, and they are made from what was understood, not from what
// was written: constants are folded, the order of parts is fixed. A count cannot be written back as listed.
// The idea: one function for each part. Mirrors event_trigger_print(), event_enable_trigger_print(),
// event_hist_trigger_print() and trigger_show() of kernel/trace, 6.1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "compiler/sema/trigger.h"
#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {
namespace {

using model::HistAction;
using model::HistActionKind;
using model::HistField;
using model::HistHandler;
using model::Histogram;
using model::HistSource;
using model::Trigger;
using model::TriggerKind;

std::string_view command_name(TriggerKind kind) {
  switch (kind) {
    case TriggerKind::TraceOn:
      return "traceon";
    case TriggerKind::TraceOff:
      return "traceoff";
    case TriggerKind::Snapshot:
      return "snapshot";
    case TriggerKind::Stacktrace:
      return "stacktrace";
    case TriggerKind::EnableEvent:
      return "enable_event";
    case TriggerKind::DisableEvent:
      return "disable_event";
    case TriggerKind::EnableHist:
      return "enable_hist";
    case TriggerKind::DisableHist:
      return "disable_hist";
    case TriggerKind::Hist:
      return "hist";
  }
  std::unreachable();
}

std::string filter_text(const Trigger& trigger) { return trigger.filter ? " if " + *trigger.filter : ""; }

// Counts are printed with a sign; the largest one stands for no count.
std::string count_text(const Trigger& trigger) {
  const auto count = static_cast<std::int64_t>(trigger.count.value_or(~0ULL));
  return count == -1 ? ":unlimited" : fmt::format(":count={}", count);
}

// ---- histograms -------------------------------------------------------------------------------------

std::string name_text(const HistField& field) {
  if (!field.listed.empty()) return field.listed;
  switch (field.source) {
    case HistSource::Cpu:
      return "common_cpu";
    case HistSource::Constant:
      return fmt::format("{}", field.constant);
    case HistSource::Reference:
    case HistSource::Alias:
      return "$" + field.name;
    case HistSource::Field:
    case HistSource::Timestamp:
    case HistSource::Comm:
    case HistSource::Hitcount:
    case HistSource::Stacktrace:
    case HistSource::Expression:
      return field.name;
  }
  std::unreachable();
}

std::string field_text(const HistField& field) {
  std::string text = name_text(field);
  if (field.source == HistSource::Stacktrace)
    return field.modifier == model::HistModifier::Full ? text + ".full" : text;
  const bool shows_modifier = field.source != HistSource::Expression && field.source != HistSource::Reference;
  const std::string_view modifier = shows_modifier ? modifier_text(field) : "";
  if (!modifier.empty()) text += fmt::format(".{}", modifier);
  if (field.buckets != 0) text += fmt::format("={}", field.buckets);
  return text;
}

std::string keys_text(const Histogram& hist) {
  std::string text;
  for (const HistField& key : hist.keys) text += (text.empty() ? "keys=" : ",") + field_text(key);
  return text;
}

std::string values_text(const Histogram& hist) {
  std::string text = hist.shows_hitcount ? ":vals=hitcount" : ":vals=";
  for (const HistField& value : hist.values) text += (text.ends_with('=') ? "" : ",") + field_text(value);
  return text;
}

std::string variables_text(const Histogram& hist) {
  std::string text;
  for (const model::HistVariable& variable : hist.variables) {
    text += (text.empty() ? ":" : ",") + variable.name + "=" + field_text(variable.value);
  }
  return text;
}

std::string column_text(const Histogram& hist, std::uint32_t column) {
  if (column == 0) return "hitcount";
  const std::size_t values = hist.values.size();
  return field_text(column <= values ? hist.values[column - 1] : hist.keys[column - 1 - values]);
}

std::string sort_text(const Histogram& hist) {
  std::string text;
  for (const model::HistSortKey& key : hist.sort) {
    text += (text.empty() ? ":sort=" : ",") + column_text(hist, key.column);
    if (key.order == model::SortOrder::Descending) text += ".descending";
  }
  return text;
}

std::string handler_text(const HistAction& action) {
  switch (action.handler) {
    case HistHandler::OnMatch:
      return fmt::format("onmatch({}.{})", action.match.system, action.match.event);
    case HistHandler::OnMax:
      return fmt::format("onmax({})", action.tracked);
    case HistHandler::OnChange:
      return fmt::format("onchange({})", action.tracked);
  }
  std::unreachable();
}

std::string params_text(const HistAction& action) {
  std::vector<std::string> words;
  switch (action.kind) {
    case HistActionKind::Snapshot:
      break;
    case HistActionKind::Save:
      for (const model::HistVariable& variable : action.saved) words.push_back(variable.name);
      break;
    case HistActionKind::Trace:
      words = action.params;
      if (action.name.starts_with("trace")) words.insert(words.begin(), action.synthetic_event);
      break;
  }
  return fmt::format("{}", fmt::join(words, ","));
}

std::string actions_text(const Histogram& hist) {
  std::string text;
  for (const HistAction& action : hist.actions) {
    text += fmt::format(":{}.{}({})", handler_text(action), action.name, params_text(action));
  }
  return text;
}

std::string histogram_text(const Trigger& trigger) {
  const Histogram& hist = trigger.histogram;
  std::string text = "hist:";
  if (!hist.name.empty()) text += fmt::format("name={}:", hist.name);
  text += keys_text(hist) + values_text(hist) + variables_text(hist) + sort_text(hist);
  text += fmt::format(":size={}", 1U << hist.bits);
  if (hist.top != 0) text += fmt::format(":top={}", hist.top);
  if (hist.drops) text += ":drop";
  if (hist.uses_timestamps) text += ":clock=" + hist.clock;
  if (!hist.shows_hitcount) text += ":nohitcount";
  text += actions_text(hist) + filter_text(trigger);
  return text + (trigger.state == model::HistState::Paused ? " [paused]" : " [active]");
}

}  // namespace

std::string print_trigger(const Trigger& trigger) {
  if (trigger.kind == TriggerKind::Hist) return histogram_text(trigger);
  std::string text(command_name(trigger.kind));
  if (!trigger.target.event.empty()) text += ":" + trigger.target.system + ":" + trigger.target.event;
  return text + count_text(trigger) + filter_text(trigger);
}

std::string trigger_file_text(std::span<const Trigger> triggers) {
  if (triggers.empty()) {
    return "# Available triggers:\n"
           "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n";
  }
  std::string text;
  for (const Trigger& trigger : triggers) text += print_trigger(trigger) + "\n";
  return text;
}

}  // namespace kevt::sema
