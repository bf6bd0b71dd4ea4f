// Patcher: changes live text of a stopped target, so that no thread ever runs half of an old and
// half of a new instruction.
#pragma once

#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/code/detour.h"
#include "runtime-user/runtime/inproc/process/signal_handover.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// One place to change. Threads that stand behind its first byte, inside `bytes` or what else it stands for, are moved
// to the same instruction in the detour (`moved`, base address `detour`); so are those that will come back there from a
// signal handler.
struct TextPatch {
  RemoteAddr site;
  std::vector<std::uint8_t> bytes;
  RemoteAddr detour;
  std::vector<x86::MovedOffset> moved;  // relocated offsets count from `detour`
  std::uint64_t covered = 0;            // bytes from `site` that the detour does in its place; 0: `bytes`
  std::vector<std::uint8_t> expected;   // what stands there now; empty: not known
};

// Takes out the patches whose place holds something else than `expected`, or nothing: its library has been unloaded,
// and what may be there now is not ours to write on. Returns their sites.
std::vector<RemoteAddr> take_out_gone(const Tracee& tracee, std::vector<TextPatch>& patches);

// Writes all patches of one batch. The target must be stopped; every CPU sees the new text before
// any thread goes on (core-serialising membarrier, executed by the target).
Result<void> apply_patches(Tracee& tracee, SignalHandover& signals, std::span<const TextPatch> patches);

// jmp from `site` to `to`, 5 bytes.
std::vector<std::uint8_t> jump_bytes(RemoteAddr site, RemoteAddr to);

}  // namespace kevt::inproc
