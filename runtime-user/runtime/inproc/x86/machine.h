// Numbers of x86-64 that patching and unwinding count with.
#pragma once

#include <cstdint>

namespace kevt::x86 {

inline constexpr std::uint8_t kBreakpoint = 0xcc;  // int3
// Bytes below the stack pointer that a function may use without moving it (System V ABI for x86-64, 3.2.2).
inline constexpr std::int32_t kRedZone = 128;

}  // namespace kevt::x86
