// The record of a synthetic event, made from the values that an action passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/model/record_view.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/histograms/hist_value.h"

namespace kevt::engine {

// The record in the event's format, with a value for each field. `of`: the record of the hit, which gives thread and
// flags.
std::vector<std::uint8_t> synthetic_record(const TracedEvent& event, std::span<const HistValue> values,
                                           model::RecordBytes of);

}  // namespace kevt::engine
