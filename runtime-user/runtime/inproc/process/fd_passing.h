// Handing one of our files to a held process.
#pragma once

#include <cstdint>

#include "common/error.h"

namespace kevt::inproc {

class RemoteMapper;

// Returns the file's number in the target (close-on-exec). Its other descriptors are as before.
Result<std::int64_t> send_fd(RemoteMapper& mapper, int our_fd);
// When it has been mapped.
Result<void> close_sent(RemoteMapper& mapper, std::int64_t fd);
// Those that were open in the target when sending failed half way (RemoteMapper::sending), or a tracer died.
Result<void> close_left_descriptors(RemoteMapper& mapper);

}  // namespace kevt::inproc
