// zstd, whole pieces of memory at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kevt::record {

// nullopt: it is no zstd frame, or does not have exactly `size` bytes.
std::optional<std::vector<std::uint8_t>> unpack_zstd(std::span<const std::uint8_t> packed, std::size_t size);
std::vector<std::uint8_t> pack_zstd(std::span<const std::uint8_t> plain);

}  // namespace kevt::record
