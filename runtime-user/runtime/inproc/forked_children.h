// Forked children: processes that carry copies of a session's patches and maps, though nobody attached to them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "runtime-user/runtime/inproc/shared_file.h"

namespace kevt::inproc {

// Whether it has `session`, the file that its session's processes write, mapped.
bool shares_session(pid_t pid, const SharedFile& session);
// Whether it is between vfork and exec.
bool runs_in_its_parents_memory(pid_t pid);
// Every process but this one that has, of those that began at `not_before` (proc::start_time) or later: their maps are
// read, which takes longest of processes that are large and have been there for long.
std::vector<pid_t> processes_sharing(const SharedFile& session, std::uint64_t not_before);

}  // namespace kevt::inproc
