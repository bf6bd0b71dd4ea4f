// What a hit of an event will cost, predicted from its code: the instructions that are ours, without the probed
// function's own, and the time they take on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/x86/path_lengths.h"

namespace kevt::inproc {

// From the jump at the probe point to the program's next instruction; for return events, of a call and its return.
// `extractor` is the event's code; `turns` the length of its longest array.
x86::PathLengths hit_instructions(const model::CompiledEvent& event, std::span<const std::uint8_t> extractor,
                                  std::uint32_t turns);

// Measured in this process, in nanoseconds; about 20 ms.
struct MachineCosts {
  double instruction = 0;  // one instruction of a mix as extractors have it
  double record = 0;       // what a recorded hit costs beside: the time stamp and the locked reservation
  double breakpoint = 0;   // int3, the signal's delivery and its return
};
MachineCosts measure_machine();

}  // namespace kevt::inproc
