// Handing one of our files to a held process.
#pragma once

#include <cstdint>

#include "common/error.h"

namespace kevt::inproc {

class RemoteMapper;

// Returns the file's number in the target (close-on-exec). Its other descriptors are as before.
Result<std::int64_t> send_fd(RemoteMapper& mapper, int our_fd);
Result<void> close_in_target(RemoteMapper& mapper, std::int64_t fd);
// Those that a tracer had open in the target when it died.
Result<void> close_left_descriptors(RemoteMapper& mapper);

}  // namespace kevt::inproc
