// Limits of event definitions (docs/language.md): those of 6.1 unless another kernel is named.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kevt::grammar {

inline constexpr std::size_t kMaxLineBytes = 4095;  // of a line without '\n'; one less if a '\n' follows
inline constexpr std::size_t kMaxArguments = 128;
inline constexpr std::size_t kMaxArgumentNameBytes = 32;
inline constexpr std::size_t kMaxExpressionBytes = 63;       // after `NAME=`, with `:type`
inline constexpr std::size_t kMaxLongExpressionBytes = 255;  // the same, 7.3
inline constexpr std::uint64_t kMaxArrayItems = 64;
inline constexpr std::uint32_t kMaxMaxactive = 4096;
inline constexpr std::size_t kMaxSyntheticFields = 64;
inline constexpr std::uint64_t kMaxSyntheticString = 256;

}  // namespace kevt::grammar
