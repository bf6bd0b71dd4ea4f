// Are two histogram triggers the same one?
//
//   hist:keys=i:vals=v          is removed by !hist:keys=i:vals=v, and by !hist:vals=v:keys=i:size=256
//   hist:keys=i:vals=v+1        is removed by !hist:keys=i:vals=v-1 too
//
// The problem: EEXIST, removal, pause, cont and clear depend on the answer, and 6.1 compares what it keeps, not the
// text: of an expression only its size and sign; never table sizes or clocks.
// The idea: compare the same properties. The caller compares names (which share counts) and filters.
// Mirrors hist_trigger_match() and actions_match() of kernel/trace/trace_events_hist.c, 6.1.
#include <algorithm>

#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {
namespace {

using model::HistAction;
using model::HistField;
using model::HistSource;
using model::HistVariable;

// Whether name and type are equal, where 6.1 compares them: for fields of the record, and `cpu`.
bool same_origin(const HistField& one, const HistField& other) {
  const bool named = one.source == HistSource::Field || one.source == HistSource::Cpu;
  return !named || (one.name == other.name && one.type == other.type);
}

bool same_field(const HistField& one, const HistField& other) {
  return one.source == other.source && same_origin(one, other) && one.modifier == other.modifier &&
         one.bytes == other.bytes && one.is_signed == other.is_signed && one.is_string == other.is_string &&
         one.is_timestamp == other.is_timestamp && one.in_usecs == other.in_usecs;
}

bool same_variable(const HistVariable& one, const HistVariable& other) {
  return one.name == other.name && same_field(one.value, other.value);
}

bool same_action(const HistAction& one, const HistAction& other) {
  const bool traces = one.kind == model::HistActionKind::Trace;
  return one.handler == other.handler && one.kind == other.kind && one.params == other.params &&
         (traces ? one.synthetic_event == other.synthetic_event : one.name == other.name) && one.match == other.match &&
         one.tracked == other.tracked;
}

}  // namespace

bool same_histogram(const model::Histogram& one, const model::Histogram& other) {
  return std::ranges::equal(one.keys, other.keys, same_field) &&
         std::ranges::equal(one.values, other.values, same_field) &&
         std::ranges::equal(one.variables, other.variables, same_variable) && one.sort == other.sort &&
         one.top == other.top && one.drops == other.drops &&
         std::ranges::equal(one.actions, other.actions, same_action);
}

}  // namespace kevt::sema
