// OutputFile: a file or standard output, written by position or to its end. Remembers its first error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/controls.h"
#include "common/error.h"
#include "common/output_place.h"
#include "common/unique_fd.h"

namespace kevt::record {

class OutputFile {
 public:
  // "-": standard output. What was there is emptied (common/output_place.h).
  static Result<OutputFile> create(const std::string& path);
  static Result<OutputFile> create_in(const UniqueFd& folder, const std::string& name);
  // A new file beside another one, whose place it may take.
  static Result<OutputFile> create_beside(const OutputFile& other);
  // A new file in the folder of `path`, with an ending of its name; it stays.
  static Result<OutputFile> create_temporary(const std::string& path, const std::string& suffix);

  const std::string& path() const { return path_; }
  int fd() const { return place_.file ? place_.file.get() : 1; }
  // Whether what is written must be escaped.
  Controls controls() const { return controls_; }
  bool is_regular() const;

  // Buffered, to the end.
  void append(std::string_view bytes) { buffer_ += bytes; }
  std::string& buffer() { return buffer_; }
  Result<void> flush();
  // Once a write is worth it.
  bool is_long() const { return buffer_.size() >= (256 << 10); }
  Result<void> flush_if_long() { return is_long() ? flush() : Result<void>(); }
  std::uint64_t written() const { return written_ + buffer_.size(); }

  // Not buffered.
  Result<void> write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  Result<void> write_at(std::uint64_t offset, std::string_view bytes);
  // Copies from another file, in the kernel where it can.
  Result<void> copy_from(const OutputFile& other, std::uint64_t from, std::uint64_t to, std::uint64_t length);
  // Takes the file away, where it was made for this object: nothing could be written to it.
  void remove();
  // Puts a file of create_beside() in the place of the other.
  Result<void> take_place_of(const OutputFile& other);

 private:
  OutputFile(OutputPlace place, std::string path);

  OutputPlace place_;
  std::string path_;
  Controls controls_ = Controls::Raw;
  bool goes_ = false;  // with this object: it has not taken its place yet
  std::string buffer_;
  std::uint64_t written_ = 0;

 public:
  OutputFile() = default;
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();
};

}  // namespace kevt::record
