// KernelText: the running kernel's instructions, through /proc/kcore.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::target {

class KernelText {
 public:
  // Needs CAP_SYS_RAWIO. Fails if the file is not a 64-bit core file.
  static Result<KernelText> open(const char* path = "/proc/kcore");

  // Fills `out` with the bytes at `address`; false if they are not mapped or cannot be read.
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const;

 private:
  struct Segment {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // in the file
  };
  UniqueFd file_;
  std::vector<Segment> segments_;
};

}  // namespace kevt::target
