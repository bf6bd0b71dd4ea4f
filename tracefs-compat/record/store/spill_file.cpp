// What does not fit into memory, in a file.
//
// Problem: a mapping of a file whose bytes have no room on the disk ends the process with SIGBUS when they are touched.
// Idea: bytes are written with pwrite(), which fails with an error, and are only then read through the mapping. The
// file is mapped in segments ahead of its end: one mapping for many chunks, since a process may have 65530.
#include "tracefs-compat/record/store/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace kevt::record {
namespace {

constexpr std::uint64_t kSegment = 256 << 20;
constexpr std::uint64_t kAlign = 64;

}  // namespace

std::string SpillFile::usual_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder && *folder == '/' ? folder : "/var/tmp";
}

Result<std::unique_ptr<SpillFile>> SpillFile::create(const std::string& folder) {
  UniqueFd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {  // the file system has no O_TMPFILE
    std::string name = folder + "/kevtrace-XXXXXX";
    file = UniqueFd(mkostemp(name.data(), O_CLOEXEC));
    if (file && unlink(name.c_str()) != 0) return std::unexpected(Error::from_errno(name));
  }
  if (!file) return std::unexpected(Error::from_errno(folder));
  return std::unique_ptr<SpillFile>(new SpillFile(std::move(file), folder));
}

Result<void> SpillFile::map_more(std::uint64_t bytes) {
  struct statvfs disk = {};
  const std::uint64_t size = std::max(kSegment, bytes);
  if (fstatvfs(file_.get(), &disk) != 0) return std::unexpected(Error::from_errno(folder_));
  if (disk.f_bavail * disk.f_frsize < size + kLeftFree)
    return std::unexpected(Error(fmt::format("{}: less than {} MB are free", folder_, (size + kLeftFree) >> 20)));
  const std::uint64_t begin = (end_ + kSegment - 1) / kSegment * kSegment;
  void* const at = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), static_cast<off_t>(begin));
  if (at == MAP_FAILED) return std::unexpected(Error::from_errno(folder_));
  segment_ = {static_cast<std::byte*>(at), [size](std::byte* mapped) { munmap(mapped, size); }};
  segment_begin_ = end_ = begin;
  segment_end_ = begin + size;
  return {};
}

// A process whose files may not grow so far would be ended by SIGXFSZ.
Result<void> SpillFile::write(std::uint64_t at, std::span<const std::byte> bytes) {
  rlimit most = {};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && at + bytes.size() > most.rlim_cur)
    return std::unexpected(Error(folder_ + ": a file of this process may not grow so far (ulimit -f)"));
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t wrote =
        pwrite(file_.get(), bytes.data() + written, bytes.size() - written, static_cast<off_t>(at + written));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::unexpected(Error::from_errno(folder_));
    if (wrote == 0) return std::unexpected(Error(folder_ + ": nothing can be written"));
    written += static_cast<std::size_t>(wrote);
  }
  // The kernel is to begin writing to the disk. By itself it waits until gigabytes are there, and then whoever needs
  // memory waits for the disk: the window, too. Where this fails, the kernel writes later.
  (void)sync_file_range(file_.get(), static_cast<off_t>(at), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
  return {};
}

Result<SpillFile::Place> SpillFile::add(std::span<const std::byte> bytes) {
  std::uint64_t at = (end_ + kAlign - 1) / kAlign * kAlign;
  if (!segment_ || at + bytes.size() > segment_end_) {
    KEVT_TRY(map_more(bytes.size()));
    at = end_;
  }
  KEVT_TRY(write(at, bytes));
  end_ = at + bytes.size();
  return Place{at, std::shared_ptr<std::byte>(segment_, segment_.get() + (at - segment_begin_))};
}

}  // namespace kevt::record
