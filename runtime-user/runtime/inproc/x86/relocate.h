// relocate: the same instructions at another address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::x86 {

// Where an instruction boundary of the original went.
struct MovedOffset {
  std::uint16_t original = 0;
  std::uint16_t relocated = 0;
};

struct Relocated {
  std::vector<std::uint8_t> code;
  // One entry per instruction start, ascending, and a last one for the end of the region.
  std::vector<MovedOffset> offsets;
};

// Bytes that relocating `length` bytes of code needs at most.
constexpr std::uint64_t max_relocated_size(std::uint64_t length) { return length * 9 + 32; }

// Why an instruction cannot run at another address, whichever it is; nullopt: it can.
std::optional<std::string_view> immovable(const Instruction& in);

// `original` is whole instructions that stand at `from`. The result, placed at `to`, does what they do
// at `from`: RIP-relative operands name the same bytes, branches reach their original targets (also
// those inside the region itself), calls push the original return address and so come back behind the
// original call. The caller adds the jump back to `from + original.size()`.
// Fails with the reason where an instruction cannot be moved or something is more than 2 GiB away.
Result<Relocated> relocate(std::span<const std::uint8_t> original, RemoteAddr from, RemoteAddr to);

}  // namespace kevt::x86
