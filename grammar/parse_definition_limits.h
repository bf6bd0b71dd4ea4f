// Limits of event definitions (docs/language.md), as 6.1 has them where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kevt::grammar {

inline constexpr std::size_t kMaxLineBytes = 4095;  // without '\n'; one less when there is a '\n'
inline constexpr std::size_t kMaxArguments = 128;
inline constexpr std::size_t kMaxArgumentNameBytes = 32;
inline constexpr std::size_t kMaxExpressionBytes = 63;       // after `NAME=`, with `:type`
inline constexpr std::size_t kMaxLongExpressionBytes = 255;  // the same, 7.3
inline constexpr std::uint64_t kMaxArrayItems = 64;
inline constexpr std::uint32_t kMaxMaxactive = 4096;
inline constexpr std::size_t kMaxSyntheticFields = 64;
inline constexpr std::uint64_t kMaxSyntheticString = 256;

}  // namespace kevt::grammar
