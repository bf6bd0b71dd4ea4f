// Signal hooks: the program's own rt_sigaction and rt_sigprocmask calls go through the agent, which
// owns SIGTRAP, SIGSEGV and SIGBUS (runtime-user/agent/signals.c).
#pragma once

#include <cstdint>
#include <vector>

#include "common/error.h"
#include "compiler/target/elf_image.h"
#include "runtime-user/runtime/inproc/patcher.h"
#include "runtime-user/runtime/inproc/placement.h"

namespace kevt::inproc {

// `mov $NR, %eax` up to and including `syscall`.
struct SignalCallSite {
  ImageAddr begin;
  ImageAddr syscall;           // of the 2-byte instruction
  bool is_only_noted = false;  // by the agent, and made as it is
};

// Whose calls are hooked: execve's, too, where programs are followed (runtime-user/agent/exec.c).
enum class HookedCalls : std::uint8_t { Signals, SignalsAndExec };

// Every such inline call in an image, libc's internal ones too; and, to be noted, those that may set a seccomp filter:
// prctl() and syscall(3).
std::vector<SignalCallSite> find_hooked_calls(const target::ElfImage& image, HookedCalls which);

// What to write at the sites of one mapped object, noted in `memory`, and the hooks' code in the arena.
Result<std::vector<TextPatch>> plan_signal_hooks(const target::ElfImage& image, std::uint64_t bias, HookedCalls which,
                                                 Placement& placement, CodeArena& arena, SessionMemory& memory);

}  // namespace kevt::inproc
