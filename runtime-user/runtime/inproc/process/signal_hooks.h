// Signal hooks: the program's own calls about signals, seccomp filters and %gs go through the agent, which owns
// SIGTRAP, SIGSEGV and SIGBUS (runtime-user/agent/calls.c).
#pragma once

#include <cstdint>
#include <vector>

#include "common/error.h"
#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/code/patcher.h"
#include "runtime-user/runtime/inproc/process/placement.h"

namespace kevt::inproc {

// Where a call is made, and how.
struct CallSite {
  enum class Form : std::uint8_t {
    Inline,      // `mov $NR, %eax` up to the `syscall`
    ByFunction,  // `push $NR`, and the call of the function that makes it
  };
  ImageAddr begin;
  ImageAddr call;  // of the instruction `syscall` or `call`
  Form form = Form::Inline;
};

// Which calls are hooked: execve, too, where programs are followed (runtime-user/agent/exec.c).
enum class HookedCalls : std::uint8_t { Signals, SignalsAndExec };

// Every such call in an image, libc's internal ones and syscall(3)'s too.
std::vector<CallSite> find_hooked_calls(const target::ElfImage& image, HookedCalls which);

// Writes the hooks of one mapped object into the arena and notes their sites in `memory`; returns the patches of the
// sites.
Result<std::vector<TextPatch>> plan_signal_hooks(const target::ElfImage& image, std::uint64_t bias, HookedCalls which,
                                                 Placement& placement, CodeArena& arena, SessionMemory& memory);

}  // namespace kevt::inproc
