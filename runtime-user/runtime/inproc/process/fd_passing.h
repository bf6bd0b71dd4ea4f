// Handing one of our files to a held process.
#pragma once

#include <cstdint>

#include "common/error.h"

namespace kevt::inproc {

class RemoteMapper;

// Returns the file's descriptor in the target (close-on-exec). The target's other descriptors stay as they are.
Result<std::int64_t> send_fd(RemoteMapper& mapper, int our_fd);
// Closes a descriptor of send_fd() in the target, when the file has been mapped.
Result<void> close_sent(RemoteMapper& mapper, std::int64_t fd);
// Closes the descriptors that were left open in the target when sending failed half way (RemoteMapper::sending), or a
// tracer died.
Result<void> close_left_descriptors(RemoteMapper& mapper);

}  // namespace kevt::inproc
