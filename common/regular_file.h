// Opening a file that somebody else named: a target's map, a debug link, a path in a definition.
#pragma once

#include <cstddef>
#include <string>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt {

// For reading. What is no regular file (a FIFO, a device, a socket, a directory) is an error that says so; it is not
// opened, so that nothing waits and no device starts. Symbolic links are followed.
Result<UniqueFd> open_regular(const std::string& path);

// What stands in the file from where it is read next to its end. More than `most` bytes are an error (EFBIG); `name`:
// as messages call it.
Result<std::string> read_to_end(int file, const std::string& name, std::size_t most);

}  // namespace kevt
