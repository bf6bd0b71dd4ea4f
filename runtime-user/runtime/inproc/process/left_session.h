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

// Cleans up after a tracer that died while it prepared a process: unmaps the piece that it had noted, if the piece is
// there and is not the program's.
Result<void> clean_up(const PreparationNote& preparation);

// Gives a process its text, signals and return addresses back and unmaps every session in it. The process must have no
// tracer.
Result<DetachResult> clean_up(pid_t pid);
// Called before a process is attached: does the same if all sessions' tracers are dead. EBUSY: one is alive, or in
// another PID namespace, where nobody can tell.
Result<void> make_free(pid_t pid);

}  // namespace kevt::inproc
