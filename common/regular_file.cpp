// open(2) waits at a FIFO that nobody writes, and acts on some devices. O_PATH finds the file without opening it; what
// was found and looked at is then what /proc/self/fd opens, so that nobody can exchange it in between.
#include "common/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kevt {

namespace {

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
  }
  return "special";
}

}  // namespace

Result<UniqueFd> open_regular(const std::string& path) {
  const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found) return std::unexpected(Error::from_errno("open " + path));
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return std::unexpected(Error::from_errno("stat " + path));
  if (!S_ISREG(status.st_mode))
    return std::unexpected(Error(fmt::format("`{}` is not a regular file: it is {}", path, kind_of(status.st_mode))));
  const std::string again = fmt::format("/proc/self/fd/{}", found.get());
  UniqueFd file(::open(again.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return std::unexpected(Error::from_errno("open " + path));
  return file;
}

Result<std::string> read_to_end(int file, const std::string& name, std::size_t most) {
  std::string text;
  char bytes[65536];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(file, bytes, sizeof bytes);
    if (got < 0 && errno != EINTR) return std::unexpected(Error::from_errno("reading " + name));
    if (got < 0) {
      got = 1;
      continue;
    }
    text.append(bytes, static_cast<std::size_t>(got));
    if (text.size() > most)
      return std::unexpected(Error(name + " is longer than " + std::to_string(most) + " bytes", EFBIG));
  }
  return text;
}

}  // namespace kevt
