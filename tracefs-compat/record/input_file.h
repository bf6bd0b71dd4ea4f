// InputFile: a regular file read by position. Nothing is mapped: a file that shrinks meanwhile is an error, not a
// signal. Cursor: its bytes one after the other, or those of a piece of memory. A file of terabytes may be one hole: a
// cursor does not read on in holes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::record {

class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  std::uint64_t size() const { return size_; }
  // Of these, how many are there: a sparse file has holes, which read as zeros. Where the file system does not tell,
  // all are.
  std::uint64_t data_bytes() const { return data_bytes_; }
  // The first byte at `offset` or behind it that lies in no hole; size() where there is none.
  std::uint64_t next_data(std::uint64_t offset) const;
  // Whether no hole touches these bytes.
  bool has_data(std::uint64_t offset, std::uint64_t bytes) const;
  const std::string& path() const { return path_; }
  // Up to `out.size()` bytes at `offset`; fewer at the end of the file or where it cannot be read.
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  void measure();

  UniqueFd fd_;
  std::uint64_t size_ = 0, data_bytes_ = 0;
  std::string path_;
};

class Cursor {
 public:
  Cursor(const InputFile& file, std::uint64_t offset) : file_(&file), at_(offset) {}
  explicit Cursor(std::span<const std::uint8_t> memory) : memory_(memory) {}

  // False from the first read on that went behind the end, or into a hole; such reads give 0 and "".
  bool good() const { return good_; }
  std::uint64_t at() const { return at_; }
  void skip(std::uint64_t bytes);

  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  // Ends at a NUL, which is taken; at most `limit` bytes.
  std::string string(std::size_t limit);
  // Exactly `count` bytes. Not good when there are fewer, or more than `limit` are asked for.
  std::string bytes(std::uint64_t count, std::uint64_t limit);

 private:
  std::uint64_t number(unsigned bytes);
  bool fill();  // makes byte at_ available in the window

  const InputFile* file_ = nullptr;
  std::span<const std::uint8_t> memory_;
  std::vector<std::uint8_t> window_;
  std::size_t next_window_ = 1 << 10;
  std::uint64_t window_at_ = 0;
  std::uint64_t at_ = 0;
  bool good_ = true;
};

}  // namespace kevt::record
