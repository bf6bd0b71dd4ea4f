// Reader of .eh_frame: which address ranges have frame descriptions, and their exception tables.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/checked_bytes.h"

namespace kevt::target {

struct FrameRange {
  ImageAddr start;
  std::uint64_t size = 0;
  ImageAddr lsda;  // exception table; 0: none
};

// `section` is mapped at `address`. Damaged or unknown entries are skipped. Ascending by start.
std::vector<FrameRange> read_eh_frame(CheckedBytes section, ImageAddr address);

// Landing pads of the exception table `lsda` (its bytes up to the end of its section) of a function
// that starts at `function`.
std::vector<ImageAddr> read_landing_pads(CheckedBytes lsda, ImageAddr lsda_address, ImageAddr function);

}  // namespace kevt::target
