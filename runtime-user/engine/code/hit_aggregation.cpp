// An event's hits count histograms by themselves if nothing else is wanted of the hits:
//
//   one instance alone has the event on, softly off, for its own histograms and nothing else
//   each of these histograms is made of numbers, texts and the stack of the hit: no time stamps, variables, actions
//   the least and the greatest are of all hits: their histogram was never cleared, and no interval has ended
//   every target's runtime takes such code, for so many of them
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
#include "runtime-user/engine/histograms/histogram_set.h"

namespace kevt::engine {

namespace {

using model::HistModifier;
using model::HistSource;
using Number = model::HitHistogram::Number;

// How a hit changes the number before counting it; modifiers that only change how it is printed do nothing. nullopt:
// hits cannot do it.
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
    case HistModifier::Average:
    case HistModifier::Least:
    case HistModifier::Greatest:
      return model::HitMeasure::Itself;
    case HistModifier::Log2:
      return model::HitMeasure::Log2;
    case HistModifier::Buckets:
      return model::HitMeasure::Bucket;
    case HistModifier::LogLinear:
      return model::HitMeasure::LogLinear;
    case HistModifier::Usecs:
    case HistModifier::Stacktrace:
    case HistModifier::Full:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_extreme(const model::HistField& value) {
  return value.modifier == HistModifier::Least || value.modifier == HistModifier::Greatest;
}

bool has_extremes(const model::Histogram& histogram) { return std::ranges::any_of(histogram.values, is_extreme); }

// Bits as of HitCount::raised.
std::uint64_t extremes_of(const model::Histogram& histogram) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < histogram.values.size(); ++i)
    if (is_extreme(histogram.values[i])) bits |= std::uint64_t{1} << i;
  return bits;
}

model::Kept kept_of(const model::HistField& value) {
  if (value.modifier == HistModifier::Least) return value.is_signed ? model::Kept::SignedLeast : model::Kept::Least;
  if (value.modifier == HistModifier::Greatest)
    return value.is_signed ? model::Kept::SignedGreatest : model::Kept::Greatest;
  return model::Kept::Sum;
}

bool is_whole_number(const model::RecordField& field) {
  const bool fits = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  return fits && field.type.array_count == 0 && !model::RecordLayout::is_string(field);
}

// How a key holds the name of the thread that hit: as its tid if every runtime can tell the name later, as a text if
// none can. With Mixed the reader counts.
enum class ThreadNames : std::uint8_t { ByNumber, AsText, Mixed };

ThreadNames names_in(std::span<TracedTarget* const> targets) {
  const auto can_tell = [](TracedTarget* target) { return target->runtime().capabilities().names_threads; };
  if (std::ranges::all_of(targets, can_tell)) return ThreadNames::ByNumber;
  return std::ranges::none_of(targets, can_tell) ? ThreadNames::AsText : ThreadNames::Mixed;
}

std::optional<Number> text_key_of(const model::HistField& field, const model::RecordLayout& layout, ThreadNames names) {
  if (field.modifier != HistModifier::None) return std::nullopt;
  if (field.source == HistSource::Comm) {
    if (names == ThreadNames::Mixed) return std::nullopt;
    if (names == ThreadNames::ByNumber) return Number{.source = model::FilterOperand::CommonPid};
    return Number{.source = model::FilterOperand::Comm, .is_text = true};
  }
  if (field.source != HistSource::Field) return std::nullopt;
  const auto found = sema::find_filter_field(field.name, layout);
  if (!found || found->source != model::FilterOperand::RecordField) return std::nullopt;
  if (!model::RecordLayout::is_located_text(layout.fields[found->index])) return std::nullopt;
  return Number{.source = found->source, .field = found->index, .is_text = true};
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

// The stack of the hit, where every runtime tells stacks by number: BPF does in the kernel alone.
std::optional<Number> stack_key_of(const model::HistField& field, const TracedEvent& event,
                                   std::span<TracedTarget* const> targets) {
  const auto can_tell = [&](TracedTarget* target) {
    const runtime::Capabilities able = target->runtime().capabilities();
    return able.numbers_stacks && (able.code == model::CodeKind::Native || !event.is_of_program());
  };
  if (!is_own_stack(field) || !std::ranges::all_of(targets, can_tell)) return std::nullopt;
  return Number{.is_stack = true};
}

// False: some field is not a number that hits can count.
bool add_numbers(const std::vector<model::HistField>& fields, const model::Histogram& histogram,
                 const model::RecordLayout& layout, std::vector<Number>& to) {
  for (const model::HistField& field : fields) {
    auto number = number_of(field, histogram, layout);
    if (!number) return false;
    number->kept = kept_of(field);
    to.push_back(*number);
  }
  return true;
}

std::optional<Number> key_of_hit(const model::HistField& key, const model::Histogram& histogram,
                                 const TracedEvent& event, std::span<TracedTarget* const> targets) {
  const ThreadNames names = names_in(targets);
  if (key.modifier == HistModifier::Execname && names != ThreadNames::ByNumber) return std::nullopt;
  if (key.source == HistSource::Stacktrace) return stack_key_of(key, event, targets);
  return key.is_string ? text_key_of(key, event.layout, names) : number_of(key, histogram, event.layout);
}

std::optional<model::HitHistogram> histogram_of(const model::Trigger& trigger, const TracedEvent& event,
                                                std::span<TracedTarget* const> targets) {
  const model::Histogram& histogram = trigger.histogram;
  if (!histogram.variables.empty() || !histogram.field_variables.empty() || !histogram.references.empty() ||
      !histogram.actions.empty() || histogram.uses_timestamps)
    return std::nullopt;
  if (histogram.drops) return std::nullopt;  // which keys came first is known where records are in order
  if (trigger.condition && sema::is_only_judged(*trigger.condition)) return std::nullopt;
  model::HitHistogram counted{.trigger = trigger.id, .condition = std::nullopt, .keys = {}, .sums = {}};
  for (const model::HistField& key : histogram.keys) {
    const auto part = key_of_hit(key, histogram, event, targets);
    if (!part) return std::nullopt;
    counted.keys.push_back(*part);
  }
  if (!add_numbers(histogram.values, histogram, event.layout, counted.sums)) return std::nullopt;
  if (counted.keys.size() * KEVT_HIT_TEXT_WORDS + 1 + counted.sums.size() > KEVT_HIT_SLOT_WORDS) return std::nullopt;
  return counted;
}

std::string_view thread_name_of(std::uint64_t tid, TracedTarget& target) {
  return target.runtime().thread_name(static_cast<std::int32_t>(tid));
}

std::size_t key_words_of(const model::HistField& key, TracedTarget& target) {
  const bool is_number =
      !key.is_string || (key.source == HistSource::Comm && target.runtime().capabilities().names_threads);
  return is_number ? 1 : KEVT_HIT_TEXT_WORDS;
}

// The key in the form of HistEntry::key.
std::string key_bytes(const model::Histogram& histogram, std::span<const std::uint64_t> words, TracedTarget& target) {
  std::string key;
  for (const model::HistField& field : histogram.keys) {
    const std::size_t begin = key.size(), count = key_words_of(field, target);
    std::string_view part(reinterpret_cast<const char*>(words.data()), count * sizeof(std::uint64_t));
    if (field.source == HistSource::Stacktrace) {
      const auto stack = target.runtime().stack(words.front());
      part = {reinterpret_cast<const char*>(stack.data()), std::min<std::size_t>(stack.size_bytes(), field.bytes)};
    }
    if (field.is_string && count == 1) part = thread_name_of(words.front(), target);
    if (field.is_string) part = part.substr(0, std::min<std::size_t>(part.find('\0'), field.bytes - 1));
    key += part;
    key.resize(begin + field.bytes);
    words = words.subspan(count);
  }
  return key;
}

// The name of the thread of an `.execname` key; empty without one.
std::string_view comm_of(const model::Histogram& histogram, std::span<const std::uint64_t> words,
                         TracedTarget& target) {
  std::size_t at = 0;
  for (const model::HistField& field : histogram.keys) {
    if (field.modifier == HistModifier::Execname) return thread_name_of(words[at], target);
    at += key_words_of(field, target);
  }
  return {};
}

bool injects(const TracingOptions& options, const TracedEvent& event) {
  return std::ranges::any_of(
      options.injections, [&](const EventInjection& one) { return names_event(one.event, event.group, event.name); });
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

// Whether triggers switch the event or its histograms. The reader runs such triggers, so it must also count.
bool HitAggregation::is_switched_by_triggers(const TracedEvent& event) const {
  for (const auto& instance : state_.instances)
    for (const auto& [owner, triggers] : instance->triggers.events())
      for (const model::Trigger& trigger : triggers)
        if (state_.events.needed_by(trigger) == &event) return true;
  return false;
}

std::optional<std::vector<model::HitHistogram>> HitAggregation::active_of(const TracedEvent& event) const {
  if (event.is_static() || event.is_made_by_reader()) return std::nullopt;
  if (state_.options.kernel_drops || injects(state_.options, event)) return std::nullopt;
  const Instance* const instance = only_instance_of(event);
  if (!instance || instance->pids || instance->refused_pids) return std::nullopt;
  const EventState* const state = instance->find_state(event.id);
  if (state->softly_on || is_switched_by_triggers(event)) return std::nullopt;
  // In the kernel, hits of programs interrupt each other in one table.
  const auto is_native = [](TracedTarget* target) {
    return target->runtime().capabilities().code == model::CodeKind::Native;
  };
  std::size_t most = model::kMaxHitHistograms;
  const auto targets = state_.code.installed().targets_of(event);
  for (TracedTarget* target : targets) most = std::min(most, target->runtime().capabilities().hit_histograms);
  const bool keeps_extremes = !event.is_of_program() || std::ranges::all_of(targets, is_native);
  std::vector<model::HitHistogram> histograms;
  for (const model::Trigger& trigger : instance->triggers.of(event.full_name())) {
    if (trigger.kind != model::TriggerKind::Hist) return std::nullopt;
    if (has_extremes(trigger.histogram) && (given_up_.contains(trigger.histogram.id) || !keeps_extremes))
      return std::nullopt;
    auto histogram = histogram_of(trigger, event, targets);
    if (!histogram) return std::nullopt;
    if (trigger.state != model::HistState::Active) continue;
    histogram->condition = hit_condition(state_, trigger, event);
    histograms.push_back(*std::move(histogram));
  }
  if (histograms.size() > most) return std::nullopt;
  return histograms;
}

bool HitAggregation::is_paused(const TracedEvent& event) const {
  const Instance* const instance = only_instance_of(event);
  const auto active = active_of(event);
  return instance && active && active->empty() && !instance->triggers.of(event.full_name()).empty();
}

std::string HitAggregation::key_of(std::span<const model::HitHistogram> histograms) {
  std::string key = "counted";
  for (const model::HitHistogram& one : histograms) key += fmt::format(" {}", one.trigger);
  return key;
}

void HitAggregation::retire(const TracedEvent& event) {
  state_.code.retire(event.id, [&](std::uint64_t id) {
    return std::ranges::any_of(state_.instances, [&](const auto& instance) {
      return std::ranges::find(instance->triggers.of(event.full_name()), id, &model::Trigger::id) !=
             instance->triggers.of(event.full_name()).end();
    });
  });
}

bool HitAggregation::give_up(const model::Histogram& histogram) {
  return has_extremes(histogram) && given_up_.insert(histogram.id).second;
}

// Counts of a histogram that was removed meanwhile are dropped.
void HitAggregation::collect() {
  for (const std::uint32_t id : counted_) {
    const TracedEvent* event = state_.events.find(id);
    if (!event) continue;
    state_.code.installed().take_hit_counts(id, [&](TracedTarget& target, const runtime::HitCount& count) {
      for (const auto& instance : state_.instances) {
        const auto triggers = instance->triggers.of(event->full_name());
        const auto trigger = std::ranges::find(triggers, count.trigger, &model::Trigger::id);
        if (trigger == triggers.end() || trigger->kind != model::TriggerKind::Hist) continue;
        const bool is_unknown = late_.contains(trigger->histogram.id) &&
                                (count.raised & extremes_of(trigger->histogram)) != extremes_of(trigger->histogram);
        if (count.key.empty() || is_unknown) {
          instance->histograms.drop(trigger->histogram, count.hits);
          continue;
        }
        const std::string key = key_bytes(trigger->histogram, count.key, target);
        std::vector<std::uint64_t> sums(count.sums.begin(), count.sums.end());
        for (std::size_t i = 0; i < sums.size(); ++i)
          sums[i] ^= model::encoded_for(kept_of(trigger->histogram.values[i]));
        instance->histograms.merge(trigger->histogram,
                                   {key, count.hits, sums, comm_of(trigger->histogram, count.key, target)});
      }
    });
  }
}

}  // namespace kevt::engine
