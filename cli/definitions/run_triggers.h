// Reads --trigger and --hist.
#pragma once

#include <string>
#include <vector>

#include "cli/reporter.h"
#include "common/error.h"

namespace kevt::cli {

struct Triggers {
  std::vector<engine::EventTrigger> triggers;
  std::vector<Source> sources;  // by trigger
};

// Each word is "EVENT:TRIGGER", "GROUP:EVENT:TRIGGER" or "GROUP/EVENT:TRIGGER". Fails if a word names no event.
Result<Triggers> collect_triggers(const std::vector<std::string>& words);
// Each word is "EVENT:keys=KEYS…", which means the trigger "hist:keys=KEYS…" of EVENT.
Result<Triggers> collect_histograms(const std::vector<std::string>& words);

}  // namespace kevt::cli
