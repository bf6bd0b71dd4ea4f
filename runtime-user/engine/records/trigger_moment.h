// When a trigger acts on the hit that fires it, as the kernel has it (docs/tree.md, "The hit that fires a trigger"):
//
//   reserve the record ─► conditions, triggers ─► keep it or not ─► late triggers        where one of them needs the
//   record triggers ─► reserve the record ─► keep it or not                                      else
//
// Mirrors update_cond_flag() and the flags of the event_commands in kernel/trace/trace_events_trigger.c (6.1 to 7.2).
#pragma once

#include <algorithm>
#include <span>

#include "compiler/model/trigger.h"

namespace kevt::engine {

// Whether such a trigger acts after the record was kept or discarded.
inline bool acts_late(model::TriggerKind kind) {
  return kind == model::TriggerKind::TraceOff || kind == model::TriggerKind::Stacktrace;
}

// `triggers`: all of an event. Whether the record is reserved before the first of them acts.
inline bool need_record(std::span<const model::Trigger> triggers) {
  return std::ranges::any_of(triggers, [](const model::Trigger& trigger) {
    return trigger.condition || acts_late(trigger.kind) || trigger.kind == model::TriggerKind::Hist;
  });
}

}  // namespace kevt::engine
