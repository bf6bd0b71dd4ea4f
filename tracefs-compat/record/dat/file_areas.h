// FileAreas: which bytes of a recording belong to what. No byte belongs to two, so that reading all of them reads no
// more than the file has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace kevt::record {

struct AreaOwner {
  enum class Kind : std::uint8_t { Head, Section, Cpu } kind = Kind::Head;
  std::uint32_t number = 0;  // the section's id, the CPU
};

class FileAreas {
 public:
  // [begin, end) is `owner`'s from now on. Otherwise nothing changes, and the answer says who is in the way: "CPU 1's
  // data (bytes 5 to 9) overlap section 18 (bytes 2 to 7)".
  std::optional<std::string> take(std::uint64_t begin, std::uint64_t end, AreaOwner owner);

 private:
  struct Area {
    std::uint64_t end;
    AreaOwner owner;
  };
  std::map<std::uint64_t, Area> by_begin_;
};

}  // namespace kevt::record
