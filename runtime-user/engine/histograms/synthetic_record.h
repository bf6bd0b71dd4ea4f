// A synthetic event's record, made of the values that an action gives it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/model/record_view.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/histograms/hist_value.h"

namespace kevt::engine {

// As the event's format says: a value for each field. `of`: the record whose hit it is, for thread and flags.
std::vector<std::uint8_t> synthetic_record(const TracedEvent& event, std::span<const HistValue> values,
                                           model::RecordBytes of);

}  // namespace kevt::engine
