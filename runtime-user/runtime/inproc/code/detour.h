// Detours: the code a probe point jumps to, generated for exactly the events that stand there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/x86/relocate.h"

namespace kevt::inproc {

// One event at a probe point: code within ±2 GiB of the detour that keeps every register (common/abi/probe.h, "The
// extractor").
struct DetourEvent {
  RemoteAddr extractor;
  RemoteAddr event;                      // kevt_event
  std::uint32_t reads = 0;               // words of kevt_registers the extractor reads from its frame
  std::optional<std::int64_t> injected;  // what the function returns, without running, when the hit says so
};

// At a function's entry and after its return the flags mean nothing (System V ABI); anywhere else they are kept.
enum class FlagsAtSite : std::uint8_t { Kept, Dead };

struct DetourSpec {
  RemoteAddr site;
  FlagsAtSite flags = FlagsAtSite::Kept;
  bool is_called = false;                   // by the agent's signal handler; only for entry events that do not inject
  std::span<const std::uint8_t> displaced;  // whole instructions that stand at `site`
  std::vector<DetourEvent> entries;         // run in this order
  std::vector<DetourEvent> returns;         // the first one is the outermost
  std::uint32_t needs = 0;                  // windows and hit tables that its events need: KEVT_MAP_NEEDS
};

struct Detour {
  std::vector<std::uint8_t> code;
  std::vector<model::FaultEntry> faults;  // offsets in `code`
  // Where each displaced instruction went, offsets in `code`; for threads that stand in the middle of the site.
  std::vector<x86::MovedOffset> displaced;
  std::uint64_t displaced_base = 0;  // added to MovedOffset::relocated
};

// Upper bound of the code's size, to allocate before generating.
std::uint64_t max_detour_size(const DetourSpec& spec);
Result<Detour> build_detour(const DetourSpec& spec, RemoteAddr at);

// A hook in front of the instruction at `syscall`: runs `displaced` (which sets the call's number), then asks the agent
// at `answer` with its four first arguments and the number (in rdi, rsi, rdx, rcx, r8). The answer is the call's
// result, or KEVT_NOT_ANSWERED: then the call is made where it stands.
Result<std::vector<std::uint8_t>> build_syscall_hook(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr syscall, RemoteAddr answer, RemoteAddr at);

// As build_syscall_hook(), in front of the 5-byte instruction `call` of a function that makes the call `number` with
// the arguments in its own registers and sets errno: `displaced` pushes the number. A negative answer makes the call
// fail in the kernel, which then says why.
Result<std::vector<std::uint8_t>> build_hook_of_call(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr call, RemoteAddr answer, std::uint32_t number,
                                                     RemoteAddr at);

}  // namespace kevt::inproc
