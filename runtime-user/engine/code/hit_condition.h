// What code at the hit checks before a trigger acts.
#pragma once

#include <optional>

#include "compiler/model/filter.h"
#include "compiler/model/trigger.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

// The trigger's own condition; in the kernel also that the thread is none of kevtrace's own
// (TracingState::hidden_threads). nullopt: no check is needed.
std::optional<model::FilterExpr> hit_condition(const TracingState& state, const model::Trigger& trigger,
                                               const TracedEvent& event);

}  // namespace kevt::engine
