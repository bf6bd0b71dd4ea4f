// A memfd with seals. Without the seals, whoever gets a descriptor of the file, from a target's shared descriptor table
// or through /proc/OUR-PID/fd, could truncate the file, and our next access would end us by SIGBUS.
#include "runtime-user/runtime/inproc/memory/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/assert.h"
#include "common/page.h"

namespace kevt::inproc {

namespace {

// Since Linux 6.3; where vm.memfd_noexec is set, code needs kExec, and data takes kNoExecSeal.
constexpr unsigned kNoExecSeal = 0x8, kExec = 0x10;

int make(const std::string& name, Contents contents) {
  constexpr unsigned kAlways = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = memfd_create(name.c_str(), kAlways | (contents == Contents::Code ? kExec : kNoExecSeal));
  if (fd >= 0 || errno != EINVAL) return fd;
  return memfd_create(name.c_str(), kAlways);
}

Result<void> add_seals(int fd, int seals) {
  if (fcntl(fd, F_ADD_SEALS, seals) < 0) return std::unexpected(Error::from_errno("sealing shared memory"));
  return {};
}

}  // namespace

Result<SharedFile> SharedFile::create(const std::string& name, std::uint64_t bytes, Contents contents) {
  SharedFile file;
  file.fd_ = UniqueFd(make(name, contents));
  if (!file.fd_ || ftruncate(file.fd(), static_cast<off_t>(bytes)) < 0)
    return std::unexpected(Error::from_errno("shared memory"));
  KEVT_TRY(add_seals(file.fd(), F_SEAL_SHRINK | F_SEAL_GROW));
  struct stat status = {};
  if (fstat(file.fd(), &status) < 0) return std::unexpected(Error::from_errno("shared memory"));
  if (static_cast<std::uint64_t>(status.st_size) != bytes)  // before it was sealed
    return std::unexpected(Error("somebody has cut off the tracer's memory"));
  file.inode_ = status.st_ino;
  file.device_ = status.st_dev;
  return file;
}

Result<void> SharedFile::seal_against_writing() const {
  return add_seals(fd_.get(), F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
}

Result<void> SharedFile::seal() const { return add_seals(fd_.get(), F_SEAL_SEAL); }

void SharedFile::clear(std::uint64_t offset, std::uint64_t bytes) const {
  int done = 0;
  do {
    done = fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(bytes));
  } while (done < 0 && errno == EINTR);
  KEVT_ASSERT(!done);  // memory of our own, which has no seal against it
}

std::vector<std::uint64_t> SharedFile::pages_between(std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::uint64_t> pages;
  const auto find = [&](std::uint64_t from, int what) {
    const off_t found = lseek(fd_.get(), static_cast<off_t>(from), what);
    return found < 0 ? end : std::min(end, static_cast<std::uint64_t>(found));
  };
  for (std::uint64_t page = find(begin, SEEK_DATA); page < end; page = find(page, SEEK_DATA))
    for (const std::uint64_t hole = find(page, SEEK_HOLE); page < hole; page += kPage) pages.push_back(page);
  return pages;
}

}  // namespace kevt::inproc
