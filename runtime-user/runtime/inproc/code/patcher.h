// Patcher: changes live text of a stopped target, so that no thread ever runs half of an old and
// half of a new instruction.
#pragma once

#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/code/detour.h"
#include "runtime-user/runtime/inproc/process/signal_handover.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// One place to change. A thread that stands behind the first byte, inside `bytes` or `covered`, is moved to the copy of
// its instruction in the detour (`moved`, base address `detour`); so is a thread that will return there from a signal
// handler.
struct TextPatch {
  RemoteAddr site;
  std::vector<std::uint8_t> bytes;
  RemoteAddr detour;
  std::vector<x86::MovedOffset> moved;  // relocated offsets count from `detour`
  std::uint64_t covered = 0;            // bytes from `site` whose instructions the detour runs; 0: as many as `bytes`
  std::vector<std::uint8_t> expected;   // what stands there now; empty: not known
};

// Removes the patches whose site is unmapped or holds something else than `expected`: its library was unloaded, and
// what is there now is not ours to change. Returns their sites.
std::vector<RemoteAddr> take_out_gone(const Tracee& tracee, std::vector<TextPatch>& patches);

// Writes all patches of one batch. The target must be stopped; every CPU sees the new text before
// any thread goes on (core-serialising membarrier, executed by the target).
Result<void> apply_patches(Tracee& tracee, SignalHandover& signals, std::span<const TextPatch> patches);

// jmp from `site` to `to`, 5 bytes.
std::vector<std::uint8_t> jump_bytes(RemoteAddr site, RemoteAddr to);

}  // namespace kevt::inproc
