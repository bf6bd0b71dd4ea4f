// The events of the filter corpus as record layouts, and a readable form of bound filters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::golden {

// "kprobes/fk", "sched/sched_switch" …: nullptr for an event nobody laid out.
const model::RecordLayout* fixture_layout(std::string_view event);
// Names of all of them.
std::vector<std::string> fixture_events();

// `(or (u8 & u8 0x4) (str = "x" prefix))`: what a filter was bound to.
std::string describe(const model::FilterExpr& filter);

// "EINVAL" for 22, "" for 0.
std::string errno_name(int value);

}  // namespace kevt::golden
