// FileContents: the bytes of a regular file, in private memory, read when they are first asked for.
//
// The file is not mapped: when somebody shrinks it, no access faults, and bytes that were read stay as they were read.
// Bytes that nobody asked for, and holes, are zeros that take no memory. Several threads may ask for bytes of one
// FileContents.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::target {

// A file as it was at one moment.
struct FileVersion {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  friend auto operator<=>(const FileVersion&, const FileVersion&) = default;
};

FileVersion version_of(const struct stat& status);

class FileContents {
 public:
  struct Limits {
    std::uint64_t read_bytes;  // read from one file at most
    unsigned open_files;       // open at a time in this process; any further file is read completely and closed
  };
  static const Limits& default_limits();  // a quarter of the machine's memory; 256 files

  // Fails if `path` is not a regular file, or is longer than 16 TiB.
  static Result<std::shared_ptr<FileContents>> open(const std::string& path, Limits limits = default_limits());
  // Does the same with an open file; errors call it `name`.
  static Result<std::shared_ptr<FileContents>> of(UniqueFd file, const std::string& name,
                                                  Limits limits = default_limits());
  // Returns the FileContents that is in use for this file already, if the file has not changed since. Several images
  // of one process share e.g. libc this way.
  static Result<std::shared_ptr<const FileContents>> open_shared(const std::string& path);

  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;
  ~FileContents();

  const std::string& name() const { return name_; }
  // The whole file; bytes that want() has not read are zeros.
  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  // The same bytes, writable: changes do not reach the file.
  std::span<std::uint8_t> changeable() { return {data_, size_}; }

  // Reads these bytes, unless they have been read. False: they lie outside the file or could not be read; problem()
  // says why.
  bool want(std::uint64_t offset, std::uint64_t length) const;
  // Closes the file. Bytes that were not read stay zeros, and want() returns false for them.
  void close();
  // Why reading failed: the file changed, is too large, or an I/O error. Bytes that were read before cannot be trusted
  // then.
  std::optional<Error> problem() const;

  // How many bytes the file system stores, in all or in a range; the rest are holes.
  std::uint64_t data_bytes() const { return data_bytes_; }
  std::uint64_t data_bytes(std::uint64_t offset, std::uint64_t length) const;
  // The first offset from `offset` on that is in no hole (data_from) or in a hole (hole_from); the file's size if there
  // is none.
  std::uint64_t data_from(std::uint64_t offset) const;
  std::uint64_t hole_from(std::uint64_t offset) const;

 private:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  static constexpr unsigned kBlockBits = 14;

  FileContents(std::string name, Limits limits) : name_(std::move(name)), limits_(limits) {}
  Result<void> take(UniqueFd file);
  Result<void> find_extents();
  bool read_blocks(std::uint64_t first, std::uint64_t last) const;
  bool read_block_data(std::uint64_t begin, std::uint64_t end) const;
  bool read_span(std::uint64_t begin, std::uint64_t end) const;
  std::string read_part(std::uint64_t begin, std::uint64_t end) const;
  bool fail(std::string why) const;
  const Extent* extent_from(std::uint64_t offset) const;

  std::string name_;
  Limits limits_;
  FileVersion version_;
  std::uint8_t* data_ = nullptr;
  std::atomic<std::uint8_t>* known_ = nullptr;  // a byte for each block; 1: the block has been read
  std::uint64_t size_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::vector<Extent> extents_;  // pieces of data between the holes, ascending

  mutable std::mutex reading_;  // guards the members below, and writes to `known_`
  UniqueFd file_;
  mutable std::uint64_t read_bytes_ = 0;
  mutable std::optional<Error> problem_;
};

inline bool FileContents::want(std::uint64_t offset, std::uint64_t length) const {
  if (offset > size_ || length > size_ - offset) return false;
  if (length == 0) return true;
  const std::uint64_t last = (offset + length - 1) >> kBlockBits;
  for (std::uint64_t block = offset >> kBlockBits; block <= last; ++block)
    if (!known_[block].load(std::memory_order_acquire)) return read_blocks(block, last);
  return true;
}

}  // namespace kevt::target
