// Addresses of different spaces are different types: they do not convert into each other.
#pragma once

#include <compare>
#include <cstdint>

namespace kevt {

template <class Tag>
struct Address {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Address, Address) = default;
  friend constexpr Address operator+(Address a, std::uint64_t bytes) { return {a.value + bytes}; }
  friend constexpr std::int64_t operator-(Address a, Address b) { return static_cast<std::int64_t>(a.value - b.value); }
};

using RemoteAddr = Address<struct RemoteTag>;  // in the traced process
using KernelAddr = Address<struct KernelTag>;  // in the kernel
using ImageAddr = Address<struct ImageTag>;    // link-time address in an ELF file (st_value, p_vaddr)
using FileOffset = Address<struct FileTag>;    // byte offset in a file

}  // namespace kevt
