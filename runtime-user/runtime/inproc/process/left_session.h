// What a tracer that has died has left in its targets, and how it is taken out again. All that is needed is in the
// target: the session's tables say what was mapped and where the text was changed.
#pragma once

#include <sys/types.h>

#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/detach.h"

namespace kevt::inproc {

// Processes that hold a session of `tracer`, a process of this PID namespace that is dead.
std::vector<pid_t> processes_left_by(pid_t tracer);

// One that died while it prepared a process: what it had noted is unmapped, where it is there and nobody else's.
Result<void> clean_up(const PreparationNote& preparation);

// Gives a process its text, signals and return addresses back and unmaps what is there of a session. Nobody may trace
// it.
Result<DetachResult> clean_up(pid_t pid);
// Before it is attached: the same for sessions whose tracer is dead; an error (EBUSY) where one is alive.
Result<void> make_free(pid_t pid);

}  // namespace kevt::inproc
