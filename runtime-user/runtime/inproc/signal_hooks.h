// Signal hooks: the program's own rt_sigaction and rt_sigprocmask calls go through the agent, which
// owns SIGTRAP, SIGSEGV and SIGBUS (runtime-user/agent/signals.c).
#pragma once

#include <vector>

#include "common/error.h"
#include "compiler/target/elf_image.h"
#include "runtime-user/runtime/inproc/patcher.h"
#include "runtime-user/runtime/inproc/placement.h"

namespace kevt::inproc {

// `mov $NR, %eax` up to and including `syscall`.
struct SignalCallSite {
  ImageAddr begin;
  ImageAddr syscall;  // of the 2-byte instruction
};

// Every inline call of the two in an image, libc's internal ones too.
std::vector<SignalCallSite> find_signal_calls(const target::ElfImage& image);

// What to write at the sites of one mapped object, and the hooks' code in the arena. `undo` gets the original bytes.
Result<std::vector<TextPatch>> plan_signal_hooks(const target::ElfImage& image, std::uint64_t bias,
                                                 Placement& placement, CodeArena& arena, std::vector<TextPatch>& undo);

}  // namespace kevt::inproc
