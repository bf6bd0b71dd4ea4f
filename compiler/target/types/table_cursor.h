// TableCursor: reads the tables of DWARF that libdw is not asked for.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {

// Values one after the other; behind the first that is not there, all are 0.
class TableCursor {
 public:
  TableCursor(CheckedBytes bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  bool good() const { return good_; }
  std::uint64_t place() const { return at_; }
  template <class Number>
  Number number() {
    const auto value = bytes_.read<Number>(at_);
    skip(sizeof(Number));
    return value.value_or(0);
  }
  std::uint64_t offset(bool is_wide) { return is_wide ? number<std::uint64_t>() : number<std::uint32_t>(); }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && good_; shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::string_view text() {
    const std::string_view value = bytes_.text(at_);
    skip(value.size() + 1);
    return value;
  }
  void skip(std::uint64_t bytes) {
    good_ = good_ && bytes_.holds(at_, bytes);
    if (good_) at_ += bytes;
  }
  void fail() { good_ = false; }

 private:
  CheckedBytes bytes_;
  std::uint64_t at_;
  bool good_ = true;
};

}  // namespace kevt::target
