// One hit, one histogram:
//
//   hist:keys=id:d=val-$t0:onmatch(sched.sched_waking).trace(wakeup,id,$d)
//     key ─► $t0 of the other's entry of this key ─► entry: hits, sums, d ─► $d of this entry ─► the synthetic event
//
// If the other histogram has no entry with this key, or its variable is not set, nothing is counted. Reading another
// histogram's variable in an expression also unsets it: the next hit needs a new value. Mirrors event_hist_trigger(),
// resolve_var_refs(), hist_trigger_elt_update() and ontrack_action() of kernel/trace/trace_events_hist.c (6.1). Not
// here: which triggers run, and what becomes of synthetic events (RecordRouter).
#include "runtime-user/engine/histograms/histogram_set.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

namespace {

using model::HistAction;
using model::HistActionKind;
using model::HistField;
using model::HistHandler;
using model::Histogram;
using model::HistSource;

template <class Test>
bool any_field(const HistField& field, Test test) {
  return test(field) || std::ranges::any_of(field.operands, [&](const HistField& one) { return any_field(one, test); });
}

template <class Test>
bool any_field(const Histogram& histogram, Test test) {
  const auto in_variables = [&](const std::vector<model::HistVariable>& variables) {
    return std::ranges::any_of(variables,
                               [&](const model::HistVariable& variable) { return any_field(variable.value, test); });
  };
  const auto in_fields = [&](const std::vector<HistField>& fields) {
    return std::ranges::any_of(fields, [&](const HistField& field) { return any_field(field, test); });
  };
  return in_fields(histogram.keys) || in_fields(histogram.values) || in_variables(histogram.variables) ||
         in_variables(histogram.field_variables) ||
         std::ranges::any_of(histogram.actions, [&](const HistAction& action) { return in_variables(action.saved); });
}

void note_read_once(const HistField& field, std::vector<bool>& is_read_once) {
  const bool is_binary = field.source == HistSource::Expression && field.operands.size() == 2;
  for (const HistField& operand : field.operands) {
    if (is_binary && operand.source == HistSource::Reference) is_read_once.at(operand.reference) = true;
    note_read_once(operand, is_read_once);
  }
}

// onmax() and onchange(): whether `value` replaces `kept`.
bool is_news(HistHandler handler, std::uint64_t kept, std::uint64_t value) {
  return handler == HistHandler::OnMax ? value > kept : value != kept;
}

}  // namespace

bool is_own_stack(const HistField& field) {
  return field.source == HistSource::Stacktrace && (field.name.empty() || field.name == "common_stacktrace");
}

bool uses_stack(const Histogram& histogram) { return any_field(histogram, is_own_stack); }

bool shows_symbols(const Histogram& histogram) {
  return uses_stack(histogram) || any_field(histogram, [](const HistField& field) {
           return field.source == HistSource::Stacktrace || field.modifier == model::HistModifier::Sym ||
                  field.modifier == model::HistModifier::SymOffset;
         });
}

bool takes_snapshots(const Histogram& histogram) {
  return std::ranges::find(histogram.actions, HistActionKind::Snapshot, &HistAction::kind) != histogram.actions.end();
}

HistogramSet::Plan HistogramSet::plan_of(const Histogram& histogram, const model::RecordLayout& layout) {
  Plan plan;
  plan.is_read_once.resize(histogram.references.size());
  const auto note = [&](const HistField& field) { note_read_once(field, plan.is_read_once); };
  const auto assignments = [&](const std::vector<model::HistVariable>& variables, std::vector<Plan::Assignment>& to) {
    for (const model::HistVariable& variable : variables) {
      note(variable.value);
      to.push_back({variable.index, HistReader(variable.value, histogram, layout)});
    }
  };
  for (const HistField& key : histogram.keys) plan.keys.emplace_back(key, histogram, layout);
  for (const HistField& value : histogram.values) {
    note(value);
    plan.values.emplace_back(value, histogram, layout);
  }
  assignments(histogram.variables, plan.variables);
  assignments(histogram.field_variables, plan.variables);
  for (const HistAction& action : histogram.actions) assignments(action.saved, plan.saved.emplace_back());
  plan.in_usecs = any_field(histogram, [](const HistField& field) {
    return field.source == HistSource::Timestamp && field.modifier == model::HistModifier::Usecs;
  });
  return plan;
}

void HistogramSet::add(const model::Trigger& trigger, const model::RecordLayout& layout, bool kernel_drops) {
  plans_.insert_or_assign(trigger.id, plan_of(trigger.histogram, layout));
  const bool drops = trigger.histogram.drops || (kernel_drops && trigger.histogram.top == 0);
  tables_.try_emplace(trigger.histogram.id, trigger.histogram, drops ? FullTable::Drops : FullTable::Grows);
}

void HistogramSet::remove(const model::Trigger& trigger, bool is_last) {
  plans_.erase(trigger.id);
  if (is_last) tables_.erase(trigger.histogram.id);
}

void HistogramSet::clear(const Histogram& histogram) {
  if (const auto found = tables_.find(histogram.id); found != tables_.end()) found->second.clear();
}

void HistogramSet::start_over(const Histogram& histogram) {
  if (const auto found = tables_.find(histogram.id); found != tables_.end()) found->second.start_over();
}

void HistogramSet::merge(const Histogram& histogram, const Counted& counted) {
  const auto found = tables_.find(histogram.id);
  if (found == tables_.end()) return;
  KEVT_ASSERT(counted.key.size() == found->second.key_bytes());
  HistEntry* const entry = found->second.count(counted.key, counted.comm, counted.hits);
  if (!entry) return;
  KEVT_ASSERT(counted.sums.size() == entry->sums.size());
  const bool is_first = entry->own_hits() == counted.hits;
  for (std::size_t i = 0; i < entry->sums.size(); ++i)
    entry->sums[i] = model::fold_value(histogram.values[i], entry->sums[i], counted.sums[i], is_first);
}

void HistogramSet::drop(const Histogram& histogram, std::uint64_t hits) {
  if (const auto found = tables_.find(histogram.id); found != tables_.end()) found->second.drop(hits);
}

const HistTable* HistogramSet::find(const Histogram& histogram) const {
  const auto found = tables_.find(histogram.id);
  return found == tables_.end() ? nullptr : &found->second;
}

std::string HistogramSet::key_of(const Histogram& histogram, const Plan& plan, const HistHit& hit) {
  std::string key;
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    const HistField& field = histogram.keys[i];
    const HistValue value = plan.keys[i].read(hit, {});
    const std::size_t begin = key.size();
    key.resize(begin + field.bytes);
    if (field.source == HistSource::Stacktrace)
      std::memcpy(key.data() + begin, value.bytes.data(), std::min<std::size_t>(value.bytes.size(), field.bytes));
    else if (field.is_string)  // leaves room for a NUL
      std::memcpy(key.data() + begin, value.bytes.data(), std::min<std::size_t>(value.bytes.size(), field.bytes - 1));
    else
      std::memcpy(key.data() + begin, &value.number, sizeof value.number);
  }
  return key;
}

bool HistogramSet::resolve(const Histogram& histogram, const Plan& plan, std::string_view key, Owner owner,
                           std::span<HistValue> references) {
  for (std::size_t i = 0; i < references.size(); ++i) {
    const model::HistReference& reference = histogram.references[i];
    if ((reference.histogram == histogram.id) != (owner == Owner::Self)) continue;
    const auto table = tables_.find(reference.histogram);
    if (table == tables_.end()) return false;
    std::string fitted(key);
    fitted.resize(table->second.key_bytes());
    HistEntry* entry = table->second.find(fitted);
    if (!entry || reference.variable >= entry->variables.size()) return false;
    HistEntry::Variable& variable = entry->variables[reference.variable];
    if (!variable.is_set) return false;
    references[i] = variable.value;
    if (owner == Owner::Others && plan.is_read_once[i]) variable.is_set = false;
  }
  return true;
}

// A snapshot is taken for the greatest value, or for a change, over all keys of the histogram.
bool HistogramSet::take_snapshot(const HistAction& action, HistTable& table, const HistEntry& entry) {
  const std::uint64_t value = entry.variables[action.tracker].value.number;
  if (!is_news(action.handler, table.snapshot ? table.snapshot->value : 0, value)) return false;
  table.snapshot = HistTable::SnapshotMark{value, {}};
  table.snapshot->entry.key = entry.key;
  table.snapshot->entry.comm = entry.comm;
  return true;
}

void HistogramSet::act(const Histogram& histogram, std::size_t index, const Plan& plan, HistEntry& entry,
                       const HistHit& hit, std::span<const HistValue> references, HistOutcome& outcome) {
  const HistAction& action = histogram.actions[index];
  if (action.handler != HistHandler::OnMatch) {
    HistEntry::Variable& kept = entry.variables[action.tracker];
    const std::uint64_t value = references[action.tracked_value].number;
    if (!is_news(action.handler, kept.value.number, value)) return;
    kept = {{value, {}}, true};
  }
  switch (action.kind) {
    case HistActionKind::Trace: {
      SyntheticHit synthetic{.event = action.synthetic_event, .values = {}};
      for (const std::uint32_t value : action.values) synthetic.values.push_back(references[value]);
      outcome.synthetic.push_back(std::move(synthetic));
      break;
    }
    case HistActionKind::Save:
      for (const Plan::Assignment& saved : plan.saved[index])
        entry.variables[saved.variable] = {saved.reader.read(hit, {references, entry.comm}), true};
      break;
    case HistActionKind::Snapshot:
      outcome.takes_snapshot |= take_snapshot(action, tables_.at(histogram.id), entry);
      break;
  }
}

HistOutcome HistogramSet::count(const model::Trigger& trigger, HistHit hit, std::uint64_t stamp, bool is_ns) {
  const Histogram& histogram = trigger.histogram;
  const auto found = plans_.find(trigger.id);
  KEVT_ASSERT(found != plans_.end());
  const Plan& plan = found->second;
  hit.time = plan.in_usecs && is_ns ? stamp / 1000 : stamp;

  HistOutcome outcome;
  const std::string key = key_of(histogram, plan, hit);
  std::vector<HistValue> references(histogram.references.size());
  if (!resolve(histogram, plan, key, Owner::Others, references)) return outcome;
  HistEntry* entry = tables_.at(histogram.id).count(key, hit.comm);
  if (!entry) {
    outcome.is_dropped = true;
    return outcome;
  }
  outcome.is_counted = true;
  const HistKnown known{references, entry->comm};
  for (std::size_t i = 0; i < plan.values.size(); ++i)
    entry->sums[i] = model::fold_value(histogram.values[i], entry->sums[i], plan.values[i].read(hit, known).number,
                                       entry->own_hits() == 1);
  for (const Plan::Assignment& one : plan.variables)
    entry->variables[one.variable] = {one.reader.read(hit, known), true};
  if (!resolve(histogram, plan, key, Owner::Self, references)) return outcome;
  for (std::size_t i = 0; i < histogram.actions.size(); ++i) act(histogram, i, plan, *entry, hit, references, outcome);
  return outcome;
}

}  // namespace kevt::engine
