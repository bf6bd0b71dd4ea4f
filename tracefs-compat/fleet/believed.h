// What nobody else could have put there: files and folders that say what this machine is to do.
#pragma once

#include <string>

#include "common/error.h"

namespace kevt::fleet {

// The real path of a file or folder that belongs to root or to this user, and that nobody else may write to or put
// something else in the place of: the same holds for all folders above it, but for those where only owners may remove
// (the sticky bit: /tmp). EPERM: it does not; the error names what is open. `purpose`: "says whose orders are obeyed".
Result<std::string> believed_path(const std::string& path, const std::string& purpose);

}  // namespace kevt::fleet
