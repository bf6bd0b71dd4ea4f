// CheckedBytes: reads from a file that may be truncated or hostile. Every access is checked; what
// does not lie inside is nullopt, never a fault.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace kevt::target {

class CheckedBytes {
 public:
  CheckedBytes() = default;
  explicit CheckedBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::uint8_t> span() const { return bytes_; }

  // `offset` + `length` may not even fit in 64 bits.
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }
  std::optional<CheckedBytes> part(std::uint64_t offset, std::uint64_t length) const {
    if (!holds(offset, length)) return std::nullopt;
    return CheckedBytes(bytes_.subspan(offset, length));
  }
  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (!holds(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // A NUL-terminated string; empty where it does not end inside.
  std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const void* end = std::memchr(begin, 0, bytes_.size() - offset);
    return end ? std::string_view(begin, static_cast<const char*>(end) - begin) : std::string_view{};
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace kevt::target
