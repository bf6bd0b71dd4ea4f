// HistText: what the file `hist` of an event reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "compiler/model/trigger.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/histograms/histogram_set.h"

namespace kevt::engine {

// All histograms among an event's triggers, in the order of the triggers; empty without one. `envs`: the targets'
// environments; the first that knows an address names it.
std::string hist_file_text(std::span<const model::Trigger> triggers, const HistogramSet& histograms,
                           std::span<const target::TargetEnv* const> envs);

}  // namespace kevt::engine
