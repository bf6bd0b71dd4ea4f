// The process that the user started, and the one behind it that traces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace kevt::session {

// Where the tracing process lives: beside CMD, which it starts for the user's terminal; or in a session of its own.
enum class Supervised : std::uint8_t { SameSession, OwnSession };

// Runs `work` in a second process and returns what it returns. The first one passes SIGINT, SIGTERM and SIGHUP on; a
// second one of them ends it at once, as SIGKILL does, and `work` then sees is_abandoned(). When something ends the
// second process in the middle of its work, the first one takes the probes out of what it traced.
int run_supervised(Supervised where, const std::function<int()>& work);

// In `work`: the user's process is gone, nobody waits for the result.
bool is_abandoned();

// In `work`, for the supervisor: CMD runs, and a directory is mounted.
void note_started(pid_t command);
void note_mounted(const std::string& directory);

}  // namespace kevt::session
