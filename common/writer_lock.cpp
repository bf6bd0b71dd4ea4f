#include "common/writer_lock.h"

#include <fcntl.h>
#include <unistd.h>

namespace kevt {
namespace {

struct flock first_byte(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool take_writer_lock(int fd) {
  struct flock lock = first_byte(F_WRLCK);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool has_writer_lock(int fd) {
  struct flock lock = first_byte(F_RDLCK);
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace kevt
