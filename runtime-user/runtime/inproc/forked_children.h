// Forked children: processes that carry copies of a session's patches and maps, though nobody attached to them.
#pragma once

#include <sys/types.h>

#include <vector>

#include "common/error.h"

namespace kevt::inproc {

// Whether it has the session's memory (our file `session_fd`) mapped.
bool shares_session(pid_t pid, int session_fd);
// Every process but this one that has.
std::vector<pid_t> processes_sharing(int session_fd);

}  // namespace kevt::inproc
