// Why a process cannot be traced, in words that say what to do about it.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/error.h"

namespace kevt::inproc {

// What can be seen without touching the process: no such process, a thread's id, ourselves, a zombie, a kernel thread,
// a 32-bit program.
Result<void> check_attachable(pid_t pid);

// Whether a process runs a 32-bit program, and the error for one. `who` has the verb: "process 12 (old) is".
bool is_32_bit(pid_t pid);
Error no_32_bit(const std::string& who);

// Why ptrace failed with `errno_value`: another tracer, another user, Yama.
Error attach_refusal(pid_t pid, int errno_value);

}  // namespace kevt::inproc
