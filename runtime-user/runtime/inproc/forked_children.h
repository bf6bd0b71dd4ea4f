// Forked children: processes that carry copies of a session's patches and maps, though nobody attached to them.
#pragma once

#include <sys/types.h>

#include <vector>

#include "common/error.h"

namespace kevt::inproc {

// Every process but this one that has the session's memory (our file `session_fd`) mapped.
std::vector<pid_t> processes_sharing(int session_fd);

}  // namespace kevt::inproc
