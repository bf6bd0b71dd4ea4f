// What code asks before a trigger of a hit acts.
#pragma once

#include <optional>

#include "compiler/model/filter.h"
#include "compiler/model/trigger.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

// The trigger's own condition, and that the hit is none of our own threads', which trigger nothing. nullopt: nothing.
std::optional<model::FilterExpr> hit_condition(const TracingState& state, const model::Trigger& trigger,
                                               const TracedEvent& event);

}  // namespace kevt::engine
