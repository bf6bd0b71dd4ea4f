// Histogram: counts of numbers, with percentiles true to 1.6 %, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kevt::record {

class Histogram {
 public:
  void add(std::uint64_t value);
  // Adds `hits` numbers between `from` and `to`, which have one cell, and their sum as 64 bits, which may have wrapped.
  // min() and max() are then ends of cells, where a cell has more than one number.
  void add_cell(std::uint64_t from, std::uint64_t to, std::uint64_t hits, std::uint64_t sum);
  // Bytes of memory that add() would take for it.
  std::size_t growth(std::uint64_t value) const;
  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return count_ ? min_ : 0; }
  std::uint64_t max() const { return max_; }
  double mean() const;
  // The smallest number that `percent` of them do not exceed; 0 when there are none.
  std::uint64_t percentile(double percent) const;
  struct Row {
    std::uint64_t from = 0, to = 0;  // both included
    std::uint64_t count = 0;
  };
  // Powers of two, from the first to the last with a number in it.
  std::vector<Row> rows() const;
  // A line for each power of two, with a bar. Appends.
  void append_bars(std::string& out) const;

 private:
  std::uint64_t& cell_for(std::uint64_t value);

  std::vector<std::uint64_t> cells_;  // 64 to a power of two; from the smallest number's to the largest one's
  std::size_t first_ = 0;             // the cell of cells_[0]
  std::uint64_t count_ = 0, min_ = ~0ull, max_ = 0;
  unsigned __int128 sum_ = 0;  // exact, so it does not depend on the order of the numbers
};

}  // namespace kevt::record
