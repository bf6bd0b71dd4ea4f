// The process that the user started, and the one behind it that traces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace kevt::session {

// Where the tracing process lives: in the user's process group, where it starts CMD on the user's terminal; or in a
// group of its own, which the terminal's signals do not reach and which must not read from the terminal.
enum class Supervised : std::uint8_t { SameGroup, OwnGroup };

// Runs `work` in a second process and returns what it returns. The first one passes SIGINT, SIGTERM and SIGHUP on; a
// second one of them ends it at once, as SIGKILL does, and `work` then sees is_abandoned(). When something ends the
// second process in the middle of its work, the first one takes the probes out of what it traced, and lets a keeper
// finish the trace.
int run_supervised(Supervised where, const std::function<int()>& work);

// For `work`: whether the first process is gone, so that nobody waits for the result.
bool is_abandoned();

// For keepers (keeper.h), copies of the second process. Whether there is a supervisor that would call one;
// wait_for_tracers_end() returns true when the second process was ended by something, false when nobody needs a keeper
// any more. One keeper at most gets true, and then asks whether the probes are out; a no takes a millisecond.
bool has_supervisor();
bool wait_for_tracers_end();
bool are_probes_out();
// For the tracer: which process is its keeper; 0: none. The supervisor ends it when the user wants everything to end.
void note_keeper(pid_t keeper);

// For `work`: tell the supervisor that CMD was started, and that a directory was mounted.
void note_started(pid_t command);
void note_mounted(const std::string& directory);

}  // namespace kevt::session
