// OutputFile: a file or standard output, written by position or to its end. Remembers its first error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::record {

class OutputFile {
 public:
  // "-": standard output. What was there is emptied.
  static Result<OutputFile> create(const std::string& path);
  // A new file beside `path`, without a name until rename_to().
  static Result<OutputFile> create_beside(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return file_ ? file_.get() : 1; }
  bool is_regular() const;

  // Buffered, to the end.
  void append(std::string_view bytes) { buffer_ += bytes; }
  std::string& buffer() { return buffer_; }
  Result<void> flush();
  // Once a write is worth it.
  Result<void> flush_if_long() { return buffer_.size() < (256 << 10) ? Result<void>() : flush(); }
  std::uint64_t written() const { return written_ + buffer_.size(); }

  // Not buffered.
  Result<void> write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  Result<void> write_at(std::uint64_t offset, std::string_view bytes);
  // Copies from another file, in the kernel where it can.
  Result<void> copy_from(const OutputFile& other, std::uint64_t from, std::uint64_t to, std::uint64_t length);
  // Puts a file of create_beside() in the place of `path`.
  Result<void> rename_to(const std::string& path);

 private:
  UniqueFd file_;
  std::string path_;
  std::string temporary_;  // its name until rename_to()
  std::string buffer_;
  std::uint64_t written_ = 0;

 public:
  OutputFile() = default;
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();
};

}  // namespace kevt::record
