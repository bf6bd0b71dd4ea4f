// Memory pages of x86-64.
#pragma once

#include <cstdint>

namespace kevt {

inline constexpr std::uint64_t kPage = 4096;  // bytes
constexpr std::uint64_t page_up(std::uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }
constexpr std::uint64_t page_down(std::uint64_t address) { return address & ~(kPage - 1); }

}  // namespace kevt
