// Reader of .eh_frame: which address ranges have frame descriptions, and their exception tables.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {

struct FrameRange {
  ImageAddr start;
  std::uint64_t size = 0;
  ImageAddr lsda;  // exception table; 0: none
};

// `section` is mapped at `address`. At most `most` ranges, ascending by start; damaged or unknown entries are skipped.
std::vector<FrameRange> read_eh_frame(CheckedBytes section, ImageAddr address, std::size_t most);

struct LandingPads {
  std::vector<ImageAddr> pads;
  std::uint64_t read_bytes = 0;
};

// At most `most` landing pads of the function that starts at `function`. `lsda`: its exception table, with all bytes
// up to the end of the section.
LandingPads read_landing_pads(CheckedBytes lsda, ImageAddr lsda_address, ImageAddr function, std::size_t most);

}  // namespace kevt::target
