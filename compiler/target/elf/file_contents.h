// FileContents: the bytes of a regular file, in private memory, read when they are first asked for.
//
// Nothing of the file is mapped: whoever may write it can shrink it and we do not fault, and what was read stays as it
// was read. What nobody asked for, and holes, are zeros that take no memory. One file may be asked from several
// threads.
#pragma once

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

class FileContents {
 public:
  struct Limits {
    std::uint64_t read_bytes;  // of one file
    unsigned open_files;       // of the process; a file above this number is read completely and closed
  };
  static const Limits& default_limits();  // a quarter of the machine's memory, 256

  // Refuses what is no regular file.
  static Result<std::shared_ptr<FileContents>> open(const std::string& path, Limits limits = default_limits());
  // The same of an open file; `name` is used in errors.
  static Result<std::shared_ptr<FileContents>> of(UniqueFd file, const std::string& name,
                                                  Limits limits = default_limits());
  // What is in use already where the file is still the same. Shared: a process has libc in several images.
  static Result<std::shared_ptr<const FileContents>> open_shared(const std::string& path);

  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;
  ~FileContents();

  const std::string& name() const { return name_; }
  // All of the file; zeros where want() was not called.
  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  // The same to change: the file stays as it is.
  std::span<std::uint8_t> changeable() { return {data_, size_}; }

  // Reads these bytes. False: they could not be read, now or before; problem() says why.
  bool want(std::uint64_t offset, std::uint64_t length) const;
  // What was not read stays zeros; want() says false of it.
  void close();
  // Why reading failed: the file changed, is damaged, or is too large. What was read before is not to be believed.
  std::optional<Error> problem() const;

  // Where the file system keeps bytes; the rest are holes.
  std::uint64_t data_bytes() const { return data_bytes_; }
  std::uint64_t data_bytes(std::uint64_t offset, std::uint64_t length) const;
  // The first byte from `offset` on that is in no hole, or is in one; the file's size: there is none.
  std::uint64_t data_from(std::uint64_t offset) const;
  std::uint64_t hole_from(std::uint64_t offset) const;

 private:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  static constexpr unsigned kBlockBits = 16;

  FileContents(std::string name, Limits limits) : name_(std::move(name)), limits_(limits) {}
  Result<void> take(UniqueFd file);
  Result<void> find_extents();
  bool read_blocks(std::uint64_t first, std::uint64_t last) const;
  bool read_block_data(std::uint64_t begin, std::uint64_t end) const;
  bool read_span(std::uint64_t begin, std::uint64_t end) const;
  bool fail(std::string why) const;
  const Extent* extent_from(std::uint64_t offset) const;

  std::string name_;
  Limits limits_;
  FileVersion version_;
  std::uint8_t* data_ = nullptr;
  std::atomic<std::uint8_t>* known_ = nullptr;  // one for each block that has been read
  std::uint64_t size_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::vector<Extent> extents_;  // ascending, apart from each other

  mutable std::mutex reading_;  // guards what follows, and setting `known_`
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
