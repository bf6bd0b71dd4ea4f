// Reading a file that somebody else may write, shrink, or may have made 4 TiB long.
//
//   libc.so.6, 1.9 MB:  | block 0 | block 1 | … |     16 KiB each; a symbol's name reads one block, once
//   sparse, 4 TiB:      | 16 KiB of data | hole … |   the address space is reserved, the hole is never read
//
// Address space is reserved for the file's whole length, so that each byte has one address; blocks are read into it
// with pread. After each read the file's size and modification time are compared with those at the beginning: if they
// differ, parts of two files would be mixed. Not seen: a change within the clock's tick (4 ms) in which the file was
// opened. The file system tells where data is (SEEK_DATA). A file system that knows no holes has data everywhere; then
// the limit on the bytes that are read of one file protects us.
#include "compiler/target/elf/file_contents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "common/regular_file.h"

namespace kevt::target {
namespace {

constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 44;  // the longest file of ext4
constexpr std::size_t kMostExtents = 1 << 16;
constexpr std::uint64_t kLong = 16 << 20;  // bytes that are read by two threads

std::atomic<unsigned> open_files = 0;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

// Zeros that take no memory until they are written.
void* reserve(std::uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, bytes, MADV_NOHUGEPAGE);  // a block that is read shall cost a block
  return at;
}

// 100 MB in small pages would be 25,000 page faults.
void take_huge_pages(std::uint8_t* begin, std::uint8_t* end) {
  constexpr std::uintptr_t kHuge = 2 << 20;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / kHuge * kHuge;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

// A FileContents is shared only if all of this is equal. The status change time (ctime) also tells that somebody has
// changed the file's rights or names.
struct SharedKey {
  FileVersion version;
  std::int64_t status_changed_ns;
  friend auto operator<=>(const SharedKey&, const SharedKey&) = default;
};

struct SharedFiles {
  std::mutex mutex;
  std::map<SharedKey, std::weak_ptr<const FileContents>> files;
};

SharedFiles& shared_files() {
  static SharedFiles files;
  return files;
}

}  // namespace

FileVersion version_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim)};
}

const FileContents::Limits& FileContents::default_limits() {
  static const Limits limits = {.read_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4,
                                .open_files = 256};
  return limits;
}

Result<std::shared_ptr<FileContents>> FileContents::open(const std::string& path, Limits limits) {
  auto file = KEVT_TRY(open_regular(path));
  return of(std::move(file), path, limits);
}

Result<std::shared_ptr<FileContents>> FileContents::of(UniqueFd file, const std::string& name, Limits limits) {
  std::shared_ptr<FileContents> contents(new FileContents(name, limits));
  KEVT_TRY(contents->take(std::move(file)));
  return contents;
}

Result<std::shared_ptr<const FileContents>> FileContents::open_shared(const std::string& path) {
  auto file = KEVT_TRY(open_regular(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(Error::from_errno("stat " + path));
  const SharedKey key{version_of(status), nanoseconds(status.st_ctim)};
  SharedFiles& shared = shared_files();
  const std::lock_guard lock(shared.mutex);
  if (const auto known = shared.files.find(key); known != shared.files.end())
    if (auto contents = known->second.lock(); contents && !contents->problem()) return contents;
  auto contents = KEVT_TRY(of(std::move(file), path));
  std::erase_if(shared.files, [](const auto& entry) { return entry.second.expired(); });
  shared.files.insert_or_assign(key, contents);
  return contents;
}

void FileContents::close() {
  const std::lock_guard lock(reading_);
  if (file_) --open_files;
  file_.reset();
}

FileContents::~FileContents() {
  close();
  if (data_) ::munmap(data_, size_);
  if (known_) ::munmap(known_, (size_ >> kBlockBits) + 1);
}

Result<void> FileContents::take(UniqueFd file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(Error::from_errno("stat " + name_));
  if (!S_ISREG(status.st_mode)) return std::unexpected(Error(fmt::format("`{}` is not a regular file", name_)));
  version_ = version_of(status);
  if (static_cast<std::uint64_t>(status.st_size) > kLongestFile)
    return std::unexpected(Error(fmt::format("`{}` is {} bytes long: no program is", name_, status.st_size)));
  if (status.st_size == 0) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  auto* data = static_cast<std::uint8_t*>(reserve(size));
  if (!data) return std::unexpected(Error::from_errno(fmt::format("reserve {} bytes for `{}`", size, name_)));
  data_ = data;
  size_ = size;
  known_ = static_cast<std::atomic<std::uint8_t>*>(reserve((size >> kBlockBits) + 1));
  if (!known_) return std::unexpected(Error::from_errno("reserve memory for `" + name_ + "`"));
  file_ = std::move(file);
  const bool is_one_too_many = ++open_files > limits_.open_files;
  KEVT_TRY(find_extents());
  if (!is_one_too_many) return {};
  const bool read = want(0, size_);
  close();
  if (!read) return std::unexpected(*problem());
  return {};
}

Result<void> FileContents::find_extents() {
  for (std::uint64_t at = 0; at < size_;) {
    const off_t data = ::lseek(file_.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to the end
    const off_t hole = data < 0 ? -1 : ::lseek(file_.get(), data, SEEK_HOLE);
    const bool knows_holes = data >= 0 && hole > data;
    const Extent extent{knows_holes ? static_cast<std::uint64_t>(data) : at,
                        knows_holes ? std::min(static_cast<std::uint64_t>(hole), size_) : size_};
    if (extent.begin >= extent.end) break;  // the file has become shorter: reading will tell
    if (extents_.size() == kMostExtents)
      return std::unexpected(Error(fmt::format("`{}` has more than {} holes: no program has", name_, kMostExtents)));
    extents_.push_back(extent);
    data_bytes_ += extent.end - extent.begin;
    at = extent.end;
  }
  return {};
}

// The extent that holds `offset`, or the first one behind it; nullptr: there is none.
const FileContents::Extent* FileContents::extent_from(std::uint64_t offset) const {
  const auto found = std::ranges::upper_bound(extents_, offset, {}, &Extent::end);
  return found == extents_.end() ? nullptr : &*found;
}

std::uint64_t FileContents::data_from(std::uint64_t offset) const {
  const Extent* extent = extent_from(offset);
  return extent ? std::max(offset, extent->begin) : size_;
}

std::uint64_t FileContents::hole_from(std::uint64_t offset) const {
  const Extent* extent = extent_from(offset);
  return extent && extent->begin <= offset ? extent->end : std::min(offset, size_);
}

std::uint64_t FileContents::data_bytes(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t end = offset + std::min(length, size_ - std::min(offset, size_));
  std::uint64_t sum = 0;
  for (const Extent* extent = extent_from(offset); extent != extents_.data() + extents_.size() && extent; ++extent) {
    if (extent->begin >= end) break;
    sum += std::min(extent->end, end) - std::max(extent->begin, offset);
  }
  return sum;
}

std::optional<Error> FileContents::problem() const {
  const std::lock_guard lock(reading_);
  return problem_;
}

bool FileContents::fail(std::string why) const {
  problem_ = Error(fmt::format("`{}` {}", name_, why));
  return false;
}

bool FileContents::read_span(std::uint64_t begin, std::uint64_t end) const {
  if (end - begin > limits_.read_bytes - read_bytes_)
    return fail(fmt::format("is too large: more than {} MiB of it would have to be read", limits_.read_bytes >> 20));
  take_huge_pages(data_ + begin, data_ + end);
  std::string why, why_of_rest;
  std::uint64_t middle = begin + (end - begin) / 2;
  std::jthread rest;
  try {
    if (end - begin >= kLong) rest = std::jthread([&] { why_of_rest = read_part(middle, end); });
  } catch (const std::system_error&) {  // no more threads are allowed here
  }
  if (!rest.joinable()) middle = end;
  why = read_part(begin, middle);
  if (rest.joinable()) rest.join();
  if (!why.empty() || !why_of_rest.empty()) return fail(why.empty() ? why_of_rest : why);
  read_bytes_ += end - begin;
  return true;
}

// The answer says what went wrong; empty: nothing.
std::string FileContents::read_part(std::uint64_t begin, std::uint64_t end) const {
  while (begin < end) {
    const ssize_t got = ::pread(file_.get(), data_ + begin, end - begin, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "cannot be read: " + Error::of_errno(errno).message();
    if (got == 0) return "changed while it was read: it became shorter";
    begin += static_cast<std::uint64_t>(got);
  }
  return "";
}

// Reads the data between the holes; holes are zeros already.
bool FileContents::read_block_data(std::uint64_t begin, std::uint64_t end) const {
  for (std::uint64_t at = data_from(begin); at < end; at = data_from(at)) {
    const std::uint64_t stop = std::min(hole_from(at), end);
    if (!read_span(at, stop)) return false;
    at = stop;
  }
  return true;
}

bool FileContents::read_blocks(std::uint64_t first, std::uint64_t last) const {
  const std::lock_guard lock(reading_);
  if (!file_) return false;
  const auto is_known = [&](std::uint64_t block) { return known_[block].load(std::memory_order_relaxed) != 0; };
  for (std::uint64_t block = first; block <= last && !problem_;) {
    if (is_known(block)) {
      ++block;
      continue;
    }
    std::uint64_t end = block + 1;
    while (end <= last && !is_known(end)) ++end;
    if (!read_block_data(block << kBlockBits, std::min(end << kBlockBits, size_))) break;
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0 || version_of(status) != version_) {
      fail("changed while it was read");
      break;
    }
    for (; block < end; ++block) known_[block].store(1, std::memory_order_release);
  }
  return !problem_;
}

}  // namespace kevt::target
