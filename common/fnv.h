// FNV-1a, 64 bits (draft-eastlake-fnv): names and checksums against damage, not against forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace kevt {

constexpr std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace kevt
