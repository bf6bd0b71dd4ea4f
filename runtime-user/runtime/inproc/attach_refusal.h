// Why a process cannot be traced, in words that say what to do about it.
#pragma once

#include <sys/types.h>

#include "common/error.h"

namespace kevt::inproc {

// What can be seen before touching it: no such process, a thread, ourselves, a zombie, a kernel thread, 32 bits.
Result<void> check_attachable(pid_t pid);

// After ptrace refused with `errno_value`: another tracer, the user, Yama.
Error attach_refusal(pid_t pid, int errno_value);

}  // namespace kevt::inproc
