// The events that an unfinished command line speaks of.
#pragma once

#include <string>
#include <vector>

#include "cli/options/asked_word.h"

namespace kevt::cli {

struct KnownEvent {
  std::string system, event;
  std::vector<std::string> fields;
};

// Those that its definitions and scripts make, then those of the recording that it names. What cannot be read has none.
std::vector<KnownEvent> known_events(const AskedWord& line);

}  // namespace kevt::cli
