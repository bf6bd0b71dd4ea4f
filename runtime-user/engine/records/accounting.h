// The line that tells what became of an event's hits; every command prints it in the same form.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// Unknown prints `missed ?`.
enum class Misses : std::uint8_t { Known, Unknown };

// "EVENT: hits N = recorded R + filtered F + lost L + missed M\n"; " + aggregated A" follows R unless A is 0.
inline std::string accounting_line(std::string_view event, const runtime::EventCounts& c,
                                   Misses misses = Misses::Known) {
  const std::string aggregated = c.aggregated ? fmt::format(" + aggregated {}", c.aggregated) : "";
  return fmt::format("{}: hits {} = recorded {}{} + filtered {} + lost {} + missed {}\n", event, c.attempts, c.recorded,
                     aggregated, c.filtered, c.lost, misses == Misses::Known ? std::to_string(c.missed) : "?");
}

}  // namespace kevt::engine
