// Functions that must keep their own return address.
//
// A return probe takes the return address off the stack and calls the function from its detour. That
// breaks functions which use the address (dlsym asks who calls it), remember the stack for a second
// return (setjmp), return twice on one stack (vfork), or are not called at all (_start). The list is by
// name since nothing in the code shows it reliably; aliases with leading underscores are meant too:
// `__sigsetjmp` is `sigsetjmp`.
// Not done: recognising copies of these functions under other names.
#include <algorithm>
#include <array>

#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::x86 {
namespace {

struct Refusal {
  std::string_view name;  // without leading underscores
  std::string_view reason;
};

constexpr std::string_view kReturnsTwice = "it returns a second time through the saved stack";
constexpr std::string_view kSharesStack = "parent and child return through the same stack";
constexpr std::string_view kSwitchesStack = "it saves or replaces the stack it returns through";
constexpr std::string_view kAsksCaller = "it looks at its own return address to find out who calls";
constexpr std::string_view kUnwinds = "it unwinds the stack from its own return address";
constexpr std::string_view kNotCalled = "it is not called, so it does not return";

constexpr std::array kRefusals = {
    Refusal{"setjmp", kReturnsTwice},
    Refusal{"sigsetjmp", kReturnsTwice},
    Refusal{"savectx", kReturnsTwice},
    Refusal{"vfork", kSharesStack},
    Refusal{"libc_vfork", kSharesStack},
    Refusal{"clone", kSharesStack},
    Refusal{"clone2", kSharesStack},
    Refusal{"clone3", kSharesStack},
    Refusal{"clone_internal", kSharesStack},
    Refusal{"getcontext", kSwitchesStack},
    Refusal{"setcontext", kSwitchesStack},
    Refusal{"swapcontext", kSwitchesStack},
    Refusal{"start_context", kNotCalled},
    Refusal{"dlopen", kAsksCaller},
    Refusal{"dlmopen", kAsksCaller},
    Refusal{"dlsym", kAsksCaller},
    Refusal{"dlvsym", kAsksCaller},
    Refusal{"libc_dlopen_mode", kAsksCaller},
    Refusal{"mcount", kAsksCaller},
    Refusal{"fentry", kAsksCaller},
    Refusal{"cyg_profile_func_enter", kAsksCaller},
    Refusal{"Unwind_RaiseException", kUnwinds},
    Refusal{"Unwind_ForcedUnwind", kUnwinds},
    Refusal{"Unwind_Resume", kUnwinds},
    Refusal{"Unwind_Resume_or_Rethrow", kUnwinds},
    Refusal{"Unwind_Backtrace", kUnwinds},
    Refusal{"start", kNotCalled},
    Refusal{"restore_rt", kNotCalled},
    Refusal{"dl_runtime_resolve", kAsksCaller},
    Refusal{"dl_runtime_profile", kAsksCaller},
    Refusal{"dl_start_user", kNotCalled},
};

// `start` alone is a common name of ordinary functions: only `_start` is meant.
bool needs_underscore(std::string_view stem) { return stem == "start" || stem == "fentry"; }

}  // namespace

std::optional<std::string> return_probe_refusal(std::string_view name) {
  const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  const std::string_view stem = name.substr(underscores);
  for (const Refusal& refusal : kRefusals) {
    const bool variant = refusal.name.starts_with("dl_runtime_") && stem.starts_with(refusal.name);
    if (stem != refusal.name && !variant) continue;
    if (needs_underscore(stem) && underscores == 0) continue;
    return "no return probe on `" + std::string(name) + "`: " + std::string(refusal.reason);
  }
  return std::nullopt;
}

std::optional<std::string> return_probe_refusal(const target::ElfImage& image, std::string_view name) {
  if (image.is_go()) return "no return probe on Go code: its runtime moves stacks and unwinds them itself";
  if (image.is_jit()) return "no return probe on code of a JIT compiler: its runtime reads return addresses";
  return return_probe_refusal(name);
}

}  // namespace kevt::x86
