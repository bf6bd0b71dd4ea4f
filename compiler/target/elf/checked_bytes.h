// CheckedBytes: reads from a file that may be truncated, sparse or hostile. Every access is checked: an access outside
// the bytes, or to bytes that cannot be read, gives nullopt, never a fault. The bytes of a FileContents are read from
// the file at the first access.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

class CheckedBytes {
 public:
  static constexpr std::uint64_t kLongestText = 1 << 16;

  CheckedBytes() = default;
  explicit CheckedBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  // `file` must outlive this object and all views of its bytes.
  explicit CheckedBytes(const FileContents& file) : bytes_(file.bytes()), file_(&file) {}

  std::uint64_t size() const { return bytes_.size(); }
  // All bytes; empty if they cannot be read.
  std::span<const std::uint8_t> span() const {
    return wants(0, bytes_.size()) ? bytes_ : std::span<const std::uint8_t>{};
  }

  // All bytes, of which those that nobody has asked for are zeros.
  std::span<const std::uint8_t> unread_span() const { return bytes_; }

  // `offset` + `length` may not even fit in 64 bits.
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }
  std::optional<CheckedBytes> part(std::uint64_t offset, std::uint64_t length) const {
    if (!holds(offset, length)) return std::nullopt;
    return CheckedBytes(bytes_.subspan(offset, length), file_);
  }
  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (!holds(offset, sizeof(T)) || !wants(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // The NUL-terminated string at `offset`; empty if no NUL follows inside, or the string is longer than `longest`.
  std::string_view text(std::uint64_t offset, std::uint64_t longest = kLongestText) const {
    if (offset >= bytes_.size()) return {};
    const std::uint64_t room = std::min(bytes_.size() - offset, longest + 1);
    if (!wants(offset, room)) return {};
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const void* end = std::memchr(begin, 0, room);
    return end ? std::string_view(begin, static_cast<const char*>(end) - begin) : std::string_view{};
  }

  // Where the file has data, as FileContents tells it. Loops over a file are bounded by its data, not by its length: a
  // file may be one hole.
  std::uint64_t data_from(std::uint64_t offset) const {
    return file_ ? inside(file_->data_from(place(offset))) : std::min<std::uint64_t>(offset, bytes_.size());
  }
  std::uint64_t hole_from(std::uint64_t offset) const {
    return file_ ? inside(file_->hole_from(place(offset))) : bytes_.size();
  }
  // Reads all bytes now, so that reading entry by entry is fast; empty if reading fails.
  CheckedBytes loaded() const { return CheckedBytes(span()); }
  // The bytes up to the first hole: a table has no holes.
  CheckedBytes unbroken() const { return CheckedBytes(bytes_.first(hole_from(0)), file_); }
  std::uint64_t data_bytes() const { return file_ ? file_->data_bytes(place(0), bytes_.size()) : bytes_.size(); }

 private:
  CheckedBytes(std::span<const std::uint8_t> bytes, const FileContents* file) : bytes_(bytes), file_(file) {}

  std::uint64_t place(std::uint64_t offset) const {
    return static_cast<std::uint64_t>(bytes_.data() - file_->bytes().data()) + offset;
  }
  std::uint64_t inside(std::uint64_t place_in_file) const {
    return std::min<std::uint64_t>(place_in_file - place(0), bytes_.size());
  }
  bool wants(std::uint64_t offset, std::uint64_t length) const { return !file_ || file_->want(place(offset), length); }

  std::span<const std::uint8_t> bytes_;
  const FileContents* file_ = nullptr;
};

}  // namespace kevt::target
