// 32 hexadecimal digits that nobody else has.
#pragma once

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdint>
#include <string>

namespace kevt {

// Waits for random numbers where the machine has just started. Empty: there are none (getrandom(2) fails).
inline std::string random_id() {
  std::array<std::uint64_t, 2> bits = {};
  if (getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return {};
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace kevt
