// The entry half of a return probe: stores the return address of the function that is being entered in one of the
// thread's return instances.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/code/code_writer.h"

namespace kevt::inproc {

// Words of kevt_registers the code changes; they must have been saved in the frame, and be restored behind it.
constexpr std::uint32_t kEntryUses = bit(kAx) | bit(kCx) | bit(kDx);

// Offsets in the writer's code.
struct ReturnEntry {
  std::vector<std::size_t> slow;          // forward branches
  std::array<std::size_t, 2> faulting{};  // instructions that may fault, to the same place
  std::size_t kept = 0;                   // where the code goes on once the return address is stored
};

// Code that runs with the stack pointer at a frame (common/abi/probe.h). What follows it in the stream is `kept`.
ReturnEntry emit_return_entry(CodeWriter& w, RemoteAddr event);
// The rare half of that code, to be emitted elsewhere. What follows it in the stream runs the function unprobed.
std::array<model::FaultEntry, 2> emit_slow_return_entry(CodeWriter& w, const ReturnEntry& entry, RemoteAddr event);

}  // namespace kevt::inproc
