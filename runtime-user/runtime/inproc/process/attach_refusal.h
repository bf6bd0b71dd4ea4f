// Why a process cannot be traced, in words that say what to do about it.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/error.h"

namespace kevt::inproc {

// What can be seen before touching it: no such process, a thread, ourselves, a zombie, a kernel thread, 32 bits.
Result<void> check_attachable(pid_t pid);

// Whether its program is one of 32 bits. `who`, with a verb: "process 12 (old) is".
bool is_32_bit(pid_t pid);
Error no_32_bit(const std::string& who);

// After ptrace refused with `errno_value`: another tracer, the user, Yama.
Error attach_refusal(pid_t pid, int errno_value);

}  // namespace kevt::inproc
