// close(2) is called once and its result ignored: on Linux the descriptor is gone whatever it returns.
#include "common/unique_fd.h"

#include <unistd.h>

namespace kevt {

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace kevt
