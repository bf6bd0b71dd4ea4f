// Detours: the code a probe point jumps to, generated for exactly the events that stand there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/x86/relocate.h"

namespace kevt::inproc {

// One event at a probe point.
struct DetourEvent {
  RemoteAddr event;            // kevt_event
  RemoteAddr extractor;        // within ±2 GiB of the detour
  std::uint32_t reads = 0;     // words of kevt_registers the extractor reads
  std::uint32_t clobbers = 0;  // and those it changes
};

// At a function's entry and after its return the flags mean nothing (System V ABI); anywhere else they are kept.
enum class FlagsAtSite : std::uint8_t { Kept, Dead };

struct DetourSpec {
  RemoteAddr site;
  FlagsAtSite flags = FlagsAtSite::Kept;
  std::span<const std::uint8_t> displaced;  // whole instructions that stand at `site`
  std::vector<DetourEvent> entries;         // run in this order
  std::vector<DetourEvent> returns;         // the first one is the outermost
  RemoteAddr return_enter;                  // agent's kevt_return_enter, kevt_return_exit
  RemoteAddr return_exit;
};

struct Detour {
  std::vector<std::uint8_t> code;
  // Where each displaced instruction went, offsets in `code`; for threads that stand in the middle of the site.
  std::vector<x86::MovedOffset> displaced;
  std::uint64_t displaced_base = 0;  // added to MovedOffset::relocated
};

// Upper bound of the code's size, to allocate before generating.
std::uint64_t max_detour_size(const DetourSpec& spec);
Result<Detour> build_detour(const DetourSpec& spec, RemoteAddr at);

// A hook in front of a `syscall` instruction: runs `displaced` (which sets the call's number), then
// `handler` in place of the syscall, then goes on at `resume`.
Result<std::vector<std::uint8_t>> build_syscall_hook(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr resume, RemoteAddr handler, RemoteAddr at);

// The registers an extractor changes that its caller must keep (see DetourEvent::clobbers).
std::uint32_t extractor_clobbers(std::span<const std::uint8_t> code);
// The same of a function that keeps to the C ABI.
std::uint32_t function_clobbers();

}  // namespace kevt::inproc
