// The triggers that are set, and the four things that can happen to them.
//
//   apply(AddTrigger{ta, stacktrace}), apply(AddTrigger{ta, traceoff}), apply(AddTrigger{ta, hist:keys=i})
//   of(ta) == {traceoff, stacktrace, hist:keys=i}        simple ones newest first, histograms at the end
//
// Histograms of one name share their counts: a later one has the first one's Histogram::id. This table runs
// nothing. Mirrors the lists of kernel/trace/trace_events_trigger.c and trace_events_hist.c, 6.1.
#include "compiler/sema/trigger_table.h"

#include <algorithm>

namespace kevt::sema {

using model::EventName;
using model::Trigger;
using model::TriggerKind;

void TriggerTable::take(const AddTrigger& step) {
  std::vector<Trigger>& triggers = events_[step.event];
  const bool last = step.trigger.kind == TriggerKind::Hist;
  triggers.insert(last ? triggers.end() : triggers.begin(), step.trigger);
  next_id_ = std::max({next_id_, step.trigger.id + 1, step.trigger.histogram.id + 1});
}

Trigger* TriggerTable::find(const EventName& event, std::uint64_t id) {
  std::vector<Trigger>& triggers = events_[event];
  const auto found = std::ranges::find(triggers, id, &Trigger::id);
  return found == triggers.end() ? nullptr : &*found;
}

void TriggerTable::take(const RemoveTrigger& step) {
  std::erase_if(events_[step.event], [&](const Trigger& trigger) { return trigger.id == step.id; });
}

void TriggerTable::take(const SetHistState& step) {
  if (Trigger* trigger = find(step.event, step.id)) trigger->state = step.state;
}

void TriggerTable::take(const ClearHist&) {}  // counts are not kept here

void TriggerTable::apply(const TriggerStep& step) {
  std::visit([this](const auto& one) { take(one); }, step);
}

std::span<const Trigger> TriggerTable::of(const EventName& event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? std::span<const Trigger>() : std::span<const Trigger>(found->second);
}

const Trigger* TriggerTable::find_named(std::string_view name) const {
  const Trigger* oldest = nullptr;
  for (const auto& [event, triggers] : events_) {
    for (const Trigger& trigger : triggers) {
      if (trigger.kind != TriggerKind::Hist || trigger.histogram.name != name) continue;
      if (oldest == nullptr || trigger.id < oldest->id) oldest = &trigger;
    }
  }
  return oldest;
}

const EventName* TriggerTable::event_of(std::uint64_t id) const {
  for (const auto& [event, triggers] : events_) {
    if (std::ranges::find(triggers, id, &Trigger::id) != triggers.end()) return &event;
  }
  return nullptr;
}

bool TriggerTable::is_counted_by_any(std::uint64_t histogram) const {
  return std::ranges::any_of(events_, [&](const auto& event) {
    return std::ranges::any_of(event.second, [&](const Trigger& trigger) {
      return trigger.kind == TriggerKind::Hist && trigger.histogram.id == histogram;
    });
  });
}

bool TriggerTable::is_referred_to(const model::Histogram& histogram) const {
  const auto is_own = [&](const model::HistReference& reference) {
    return reference.histogram == histogram.id && reference.variable < histogram.variables.size();
  };
  for (const auto& [event, triggers] : events_) {
    for (const Trigger& trigger : triggers) {
      const model::Histogram& other = trigger.histogram;
      if (other.id != histogram.id && std::ranges::any_of(other.references, is_own)) return true;
    }
  }
  return false;
}

}  // namespace kevt::sema
