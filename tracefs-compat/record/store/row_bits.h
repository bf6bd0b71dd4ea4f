// RowBits: a set of a chunk's rows, a bit each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace kevt::record {

using RowBits = std::vector<std::uint64_t>;  // bit row % 64 of word row / 64

inline RowBits no_rows(std::uint32_t rows) { return RowBits((rows + 63) / 64); }
inline RowBits all_rows(std::uint32_t rows) {
  RowBits bits((rows + 63) / 64, ~std::uint64_t{0});
  if (rows % 64 != 0) bits.back() = (std::uint64_t{1} << rows % 64) - 1;
  return bits;
}
inline void set_bit(RowBits& bits, std::uint32_t row) { bits[row / 64] |= std::uint64_t{1} << (row % 64); }
inline void clear_bit(RowBits& bits, std::uint32_t row) { bits[row / 64] &= ~(std::uint64_t{1} << (row % 64)); }
inline bool has_bit(const RowBits& bits, std::uint32_t row) { return (bits[row / 64] >> (row % 64) & 1) != 0; }
inline std::size_t count_bits(const RowBits& bits) {
  std::size_t count = 0;
  for (const std::uint64_t word : bits) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}
// Calls `visit(row)` for each row that is in the set, ascending.
template <class Visit>
void each_bit(const RowBits& bits, Visit visit) {
  for (std::size_t word = 0; word < bits.size(); ++word)
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
      visit(static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(left))));
}

}  // namespace kevt::record
