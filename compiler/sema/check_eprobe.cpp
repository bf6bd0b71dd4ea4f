// Event probes: the event they attach to, and their filter.
//
//   e nope/nope            →  BadAttachEvent, ENODEV
//   e sched/x if nope == 1 →  FilterFieldNotFound in the filter's own text
//
// Problem: an eprobe cannot sit on a kprobe, uprobe or another eprobe, nor on ftrace's own events; the filter
// speaks of the attached event's fields, and its mistakes are shown as a filter's.
// Mirrors find_and_get_event() and trace_eprobe_parse_filter() of kernel/trace/trace_eprobe.c (6.1).
#include "compiler/sema/definition_check.h"
#include "compiler/sema/filter.h"

namespace kevt::sema {
namespace {

bool can_be_attached(const target::CatalogEntry& entry) {
  switch (entry.owner) {
    case target::EventOwner::Kprobe:
    case target::EventOwner::Uprobe:
    case target::EventOwner::Eprobe:
      return false;
    case target::EventOwner::Fprobe:
    case target::EventOwner::Tprobe:
    case target::EventOwner::Synthetic:
    case target::EventOwner::Watchpoint:
    case target::EventOwner::Static:
      return entry.group != "ftrace";
  }
  return false;
}

}  // namespace

const target::CatalogEntry* check_event_place(DefinitionCheck& check, const model::EventPlace& place) {
  const target::CatalogEntry* entry = check.catalog.find(place.system, place.event);
  if (entry != nullptr && can_be_attached(*entry)) return entry;
  if (entry == nullptr && check.request.catalog == CatalogScope::Partial) {
    check.attached_unknown = true;
    return nullptr;
  }
  check.report({.kind = diag::Kind::BadAttachEvent,
                .column = check.place_column(),
                .order = diag::kStepAttach,
                .errno_value = ENODEV,
                .detail = entry == nullptr ? "" : "it is a probe itself"});
  return nullptr;
}

void check_eprobe_filter(DefinitionCheck& check, const target::CatalogEntry& attached) {
  if (!check.definition.filter || check.definition.filter->empty()) return;
  diag::Sink mistakes;
  compile_filter(*check.definition.filter, attached.layout, mistakes, check.request);
  for (diag::Diagnostic& mistake : mistakes.take()) {
    mistake.order = diag::kStepFilter;
    mistake.errno_value = EINVAL;  // whatever the filter's own file would answer
    check.sink.report(std::move(mistake));
  }
}

}  // namespace kevt::sema
