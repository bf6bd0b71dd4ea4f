// open() takes the lowest number that is free, so each closed one is filled in its turn:
//
//   kevtrace run … <&- >&-      0: /dev/null, to be written only      1: /dev/null, to be read only
//
// Where there is no /dev/null, "/" opened as a mere path does the same.
#include "common/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace kevt {
namespace {

constexpr int kNoStart = 125;

int open_unusable(int number) {
  const int direction = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
  const int opened = open("/dev/null", direction | O_CLOEXEC);
  return opened >= 0 ? opened : open("/", O_PATH | O_CLOEXEC);
}

}  // namespace

void reserve_standard_descriptors() {
  for (int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open_unusable(number) != number) _exit(kNoStart);  // nothing can be said: 2 may be the one
  }
}

}  // namespace kevt
