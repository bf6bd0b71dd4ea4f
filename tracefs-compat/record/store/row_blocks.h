// A chunk's rows block by block: so many that their columns and bytes stay in a CPU's own cache while one question
// after the other is asked of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {

inline constexpr std::uint32_t kBlockRows = 4096;

// Rows of a chunk, ascending.
using RowList = std::span<const std::uint16_t>;

// The first of `rows` that lie before `end`; they are taken from it.
inline RowList take_before(RowList& rows, std::uint32_t end) {
  if (rows.empty() || rows.front() >= end) return {};
  const auto count = static_cast<std::size_t>(std::ranges::lower_bound(rows, end) - rows.begin());
  const RowList taken = rows.first(count);
  rows = rows.subspan(count);
  return taken;
}

// Where the bytes of a block's records begin in StoreChunk::payload. They are added up when the first is asked for.
class BlockBegins {
 public:
  explicit BlockBegins(const StoreChunk& chunk) : chunk_(chunk) {}
  // A multiple of kBlockRows, in the chunk.
  void move_to(std::uint32_t first) {
    first_ = first;
    begins_.clear();
  }
  void read() {
    if (!begins_.empty()) return;
    begins_.resize(std::min(kBlockRows, chunk_.rows() - first_));
    chunk_.payload_begins(first_, begins_);
    fetch();
  }
  // After read(); a row of the block.
  std::uint32_t operator[](std::uint32_t row) const { return begins_[row - first_]; }
  std::span<const std::uint8_t> bytes(std::uint32_t row) const { return chunk_.bytes_from((*this)[row], row); }

 private:
  // Reads a byte of each line of the block, so that the memory is asked for many lines at once; a question about single
  // records waits for each line instead.
  void fetch() const {
    constexpr std::size_t kLine = 64;
    const auto block = chunk_.payload.subspan(begins_.front(), begins_.back() - begins_.front());
    std::uint8_t sum = 0;
    for (std::size_t at = 0; at < block.size(); at += kLine) sum ^= block[at];
    asm volatile("" ::"r"(sum));  // the sum is not used, but has to be made
  }

  const StoreChunk& chunk_;
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> begins_;
};

}  // namespace kevt::record
