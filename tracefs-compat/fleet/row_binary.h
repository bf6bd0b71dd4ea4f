// RowBinary, ClickHouse's plainest format: values one after the other, numbers in little endian, a length (LEB128)
// before texts and arrays, a byte before what may be NULL.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kevt::fleet {

class RowWriter {
 public:
  explicit RowWriter(std::vector<std::uint8_t>& out) : out_(out) {}

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void number(Number value) { raw(&value, sizeof value); }
  // The lowest bytes.
  void bits(std::uint64_t value, std::uint32_t bytes) { raw(&value, bytes); }
  void length(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::uint8_t>(value) | 0x80);
    out_.push_back(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    length(value.size());
    raw(value.data(), value.size());
  }
  void null() { out_.push_back(1); }
  void not_null() { out_.push_back(0); }
  void texts(const std::vector<std::string>& values) {
    length(values.size());
    for (const std::string& one : values) text(one);
  }

 private:
  void raw(const void* from, std::size_t bytes) {
    const auto* at = static_cast<const std::uint8_t*>(from);
    out_.insert(out_.end(), at, at + bytes);
  }

  std::vector<std::uint8_t>& out_;
};

// Reads what a server sent, which may be anything: behind the first value that is not there all are 0, "", NULL, and
// good() is false.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return at_ == bytes_.size() || !good_; }

  template <class Number>
  Number number() {
    return static_cast<Number>(bits(sizeof(Number)));
  }
  std::uint64_t bits(std::uint32_t bytes) {
    std::uint64_t value = 0;
    if (bytes > sizeof value || !has(bytes)) return 0;
    std::memcpy(&value, bytes_.data() + at_, bytes);
    at_ += bytes;
    return value;
  }
  std::uint64_t length() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bits(1));
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  // Of an array: no more than the bytes that are left, since an item has one at least.
  std::uint64_t count() {
    const std::uint64_t items = length();
    return has(items) ? items : 0;
  }
  std::string_view text() {
    const std::uint64_t bytes = length();
    if (!has(bytes)) return {};
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  bool is_null() { return bits(1) != 0; }
  // `most`: the others are left out.
  std::vector<std::string> texts(std::size_t most) {
    std::vector<std::string> out;
    const std::uint64_t items = count();
    for (std::uint64_t i = 0; i < items && good_; ++i)
      if (const std::string_view one = text(); out.size() < most) out.emplace_back(one);
    return out;
  }

 private:
  bool has(std::uint64_t bytes) {
    good_ = good_ && bytes <= bytes_.size() - at_;
    return good_;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace kevt::fleet
