// --trigger and --hist: what hits of an event switch and count.
#pragma once

#include <string>
#include <vector>

#include "cli/reporter.h"
#include "common/error.h"

namespace kevt::cli {

struct Triggers {
  std::vector<engine::EventTrigger> triggers;
  std::vector<Source> sources;  // of each
};

// Reads each "EVENT:TRIGGER", "GROUP:EVENT:TRIGGER" or "GROUP/EVENT:TRIGGER"; fails when no event is named.
Result<Triggers> collect_triggers(const std::vector<std::string>& words);
// The same of "EVENT:keys=KEYS…", which stands for the trigger "hist:keys=KEYS…".
Result<Triggers> collect_histograms(const std::vector<std::string>& words);

}  // namespace kevt::cli
