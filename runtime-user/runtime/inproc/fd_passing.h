// Handing one of our files to a held process that could not open it by a path.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/error.h"

namespace kevt::inproc {

class Placement;

// Returns the file's number in the target (close-on-exec). Its other descriptors are as before.
Result<std::int64_t> send_fd(Placement& placement, pid_t pid, int our_fd);

}  // namespace kevt::inproc
