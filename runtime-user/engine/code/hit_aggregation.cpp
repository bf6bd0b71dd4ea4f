// An event's hits count by themselves where nothing else is wanted of them:
//
//   one instance alone has the event on, softly off, for its own histograms and nothing else
//   each of these histograms is made of numbers of the hit: no texts, stacks, time stamps, variables, actions
//   every target's runtime takes such code
//
// Gates do not matter: a histogram counts while tracing is off. set_event_pid does, and is left to the reader. A hit
// whose key finds no room in its thread's table is recorded as before, and the reader counts it: nothing is dropped.
#include "runtime-user/engine/code/hit_aggregation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/abi/hit_table.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/filter_field.h"
#include "runtime-user/engine/code/hit_condition.h"

namespace kevt::engine {

namespace {

using model::HistModifier;
using model::HistSource;
using Number = model::HitHistogram::Number;

// How the listing shows a number changes nothing in it.
std::optional<model::HitMeasure> measure_of(HistModifier modifier) {
  switch (modifier) {
    case HistModifier::None:
    case HistModifier::Hex:
    case HistModifier::Sym:
    case HistModifier::SymOffset:
    case HistModifier::Execname:
    case HistModifier::Syscall:
    case HistModifier::Percent:
    case HistModifier::Graph:
      return model::HitMeasure::Itself;
    case HistModifier::Log2:
      return model::HitMeasure::Log2;
    case HistModifier::Buckets:
      return model::HitMeasure::Bucket;
    case HistModifier::Usecs:
    case HistModifier::Stacktrace:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_whole_number(const model::RecordField& field) {
  const bool fits = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  return fits && field.type.array_count == 0 && !model::RecordLayout::is_string(field);
}

std::optional<Number> number_of(const model::HistField& field, const model::Histogram& histogram,
                                const model::RecordLayout& layout) {
  const auto measure = measure_of(field.modifier);
  if (!measure || field.is_string) return std::nullopt;
  Number number{.measure = *measure, .width = field.buckets, .log2_of_negatives = histogram.log2_of_negatives};
  if (field.source == HistSource::Cpu) {
    number.source = model::FilterOperand::Cpu;
    return number;
  }
  if (field.source != HistSource::Field) return std::nullopt;
  const auto found = sema::find_filter_field(field.name, layout);
  if (!found || found->is_string) return std::nullopt;
  if (found->source == model::FilterOperand::Comm || found->source == model::FilterOperand::Unbound)
    return std::nullopt;
  number.source = found->source;
  number.field = found->index;
  number.is_signed = found->is_signed;
  if (found->source != model::FilterOperand::RecordField) return number;
  const model::RecordField& place = layout.fields[found->index];
  if (!is_whole_number(place)) return std::nullopt;
  number.bytes = place.size;
  return number;
}

// False: a field is no number of the hit.
bool add_numbers(const std::vector<model::HistField>& fields, const model::Histogram& histogram,
                 const model::RecordLayout& layout, std::vector<Number>& to) {
  for (const model::HistField& field : fields) {
    const auto number = number_of(field, histogram, layout);
    if (!number) return false;
    to.push_back(*number);
  }
  return true;
}

std::optional<model::HitHistogram> histogram_of(const model::Trigger& trigger, const model::RecordLayout& layout) {
  const model::Histogram& histogram = trigger.histogram;
  if (!histogram.variables.empty() || !histogram.field_variables.empty() || !histogram.references.empty() ||
      !histogram.actions.empty() || histogram.uses_timestamps)
    return std::nullopt;
  if (trigger.condition && sema::is_only_judged(*trigger.condition)) return std::nullopt;
  model::HitHistogram counted{.trigger = trigger.id, .condition = std::nullopt, .keys = {}, .sums = {}};
  if (!add_numbers(histogram.keys, histogram, layout, counted.keys)) return std::nullopt;
  if (!add_numbers(histogram.values, histogram, layout, counted.sums)) return std::nullopt;
  if (counted.keys.size() + 1 + counted.sums.size() > KEVT_HIT_SLOT_WORDS) return std::nullopt;
  return counted;
}

bool names_threads(const model::Histogram& histogram) {
  return std::ranges::find(histogram.keys, HistModifier::Execname, &model::HistField::modifier) != histogram.keys.end();
}

// Of the thread that a key names.
std::string_view name_in(const model::Histogram& histogram, const runtime::HitCount& count, TracedTarget& target) {
  for (std::size_t i = 0; i < histogram.keys.size(); ++i)
    if (histogram.keys[i].modifier == HistModifier::Execname)
      return target.runtime().thread_name(static_cast<std::int32_t>(count.key[i]));
  return {};
}

}  // namespace

const Instance* HitAggregation::only_instance_of(const TracedEvent& event) const {
  const Instance* only = nullptr;
  for (const auto& instance : state_.instances) {
    const EventState* one = instance->find_state(event.id);
    if (!one || !one->registered) continue;
    if (only) return nullptr;
    only = instance.get();
  }
  return only;
}

// Histograms of it are put on and off by hits, which are the reader's.
bool HitAggregation::is_switched_by_triggers(const TracedEvent& event) const {
  for (const auto& instance : state_.instances)
    for (const auto& [owner, triggers] : instance->triggers.events())
      for (const model::Trigger& trigger : triggers)
        if (state_.events.needed_by(trigger) == &event) return true;
  return false;
}

std::vector<model::HitHistogram> HitAggregation::of(const TracedEvent& event) const {
  if (event.is_static() || event.owner == target::EventOwner::Synthetic || given_up_.contains(event.id)) return {};
  const auto counts_hits = [](TracedTarget* target) { return target->runtime().capabilities().counts_hits; };
  if (!std::ranges::all_of(state_.code.targets(), counts_hits)) return {};
  const Instance* const instance = only_instance_of(event);
  if (!instance || instance->pids || instance->refused_pids || instance->wants_stack_of(event)) return {};
  const EventState* const state = instance->find_state(event.id);
  if (state->softly_on || is_switched_by_triggers(event)) return {};
  std::vector<model::HitHistogram> histograms;
  for (const model::Trigger& trigger : instance->triggers.of(event.full_name())) {
    if (trigger.kind != model::TriggerKind::Hist) return {};
    auto histogram = histogram_of(trigger, event.layout);
    if (!histogram) return {};
    if (trigger.state != model::HistState::Active) continue;
    histogram->condition = hit_condition(state_, trigger, event);
    histograms.push_back(*std::move(histogram));
  }
  if (histograms.size() > KEVT_HIT_TABLES / 4) return {};
  return histograms;
}

std::string HitAggregation::key_of(std::span<const model::HitHistogram> histograms) {
  std::string key = "counted";
  for (const model::HitHistogram& one : histograms) key += fmt::format(" {}", one.trigger);
  return key;
}

bool HitAggregation::give_up(std::span<const TracedEvent* const> events) {
  bool any = false;
  for (const TracedEvent* event : events)
    if (!of(*event).empty()) any = given_up_.insert(event->id).second || any;
  return any;
}

void HitAggregation::allow(std::span<const TracedEvent* const> events) {
  for (const TracedEvent* event : events) given_up_.erase(event->id);
}

// What is left of a histogram that has gone is nobody's.
void HitAggregation::collect() {
  for (const std::uint32_t id : counted_) {
    const TracedEvent* event = state_.events.find(id);
    if (!event) continue;
    state_.code.take_hit_counts(id, [&](TracedTarget& target, const runtime::HitCount& count) {
      for (const auto& instance : state_.instances) {
        const auto triggers = instance->triggers.of(event->full_name());
        const auto trigger = std::ranges::find(triggers, count.trigger, &model::Trigger::id);
        if (trigger == triggers.end() || trigger->kind != model::TriggerKind::Hist) continue;
        if (count.key.empty()) {
          instance->histograms.drop(trigger->histogram, count.hits);
          continue;
        }
        const std::string_view comm =
            names_threads(trigger->histogram) ? name_in(trigger->histogram, count, target) : std::string_view{};
        instance->histograms.merge(trigger->histogram, {count.key, count.hits, count.sums, comm});
      }
    });
  }
}

}  // namespace kevt::engine
