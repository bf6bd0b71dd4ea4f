// Numbers below 64 have a cell each; above, the cell is the power of two and the next six bits.
#include "tracefs-compat/record/analysis/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace kevt::record {
namespace {

constexpr unsigned kBits = 6;
constexpr std::uint64_t kCells = 1ull << kBits;

std::size_t cell_of(std::uint64_t value) {
  if (value < kCells) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
  return (shift + 1) * kCells + (value >> shift) - kCells;
}

// The sum lies between hits * from and hits * to: 64 bits of it tell it, if these are not further apart.
using Wide = unsigned __int128;
Wide whole_sum(std::uint64_t from, std::uint64_t to, std::uint64_t hits, std::uint64_t sum) {
  const Wide least = Wide{hits} * from, width = Wide{hits} * (to - from);
  if (width >> 64 != 0) return least + width / 2;
  return least + (sum - static_cast<std::uint64_t>(least));
}

// The largest number of a cell.
std::uint64_t end_of(std::size_t cell) {
  if (cell < kCells) return cell;
  const std::size_t shift = cell / kCells - 1;
  return ((cell % kCells + kCells + 1) << shift) - 1;
}

}  // namespace

std::uint64_t& Histogram::cell_for(std::uint64_t value) {
  const std::size_t cell = cell_of(value);
  if (cells_.empty()) first_ = cell;
  if (cell < first_) {
    cells_.insert(cells_.begin(), first_ - cell, 0);
    first_ = cell;
  }
  if (cell - first_ >= cells_.size()) cells_.resize(cell - first_ + 1);
  return cells_[cell - first_];
}

void Histogram::add(std::uint64_t value) {
  ++cell_for(value);
  ++count_;
  sum_ += value;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void Histogram::add_cell(std::uint64_t from, std::uint64_t to, std::uint64_t hits, std::uint64_t sum) {
  if (hits == 0) return;
  cell_for(from) += hits;
  count_ += hits;
  sum_ += whole_sum(from, to, hits, sum);
  min_ = std::min(min_, hits == 1 ? sum : from);
  max_ = std::max(max_, hits == 1 ? sum : to);
}

std::size_t Histogram::growth(std::uint64_t value) const {
  const std::size_t cell = cell_of(value), end = first_ + cells_.size();
  if (cells_.empty()) return sizeof cells_[0];
  return (cell < first_ ? first_ - cell : cell >= end ? cell + 1 - end : 0) * sizeof cells_[0];
}

double Histogram::mean() const { return count_ ? static_cast<double>(sum_) / static_cast<double>(count_) : 0; }

std::uint64_t Histogram::percentile(double percent) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    seen += cells_[cell];
    if (seen >= std::max<std::uint64_t>(wanted, 1)) return std::clamp(end_of(first_ + cell), min(), max_);
  }
  return 0;
}

std::vector<Histogram::Row> Histogram::rows() const {
  std::vector<std::uint64_t> widths(65, 0);  // by the number's width in bits
  for (std::size_t cell = 0; cell < cells_.size(); ++cell)
    widths[static_cast<std::size_t>(std::bit_width(end_of(first_ + cell)))] += cells_[cell];
  std::vector<Row> rows;
  for (std::size_t width = 0; width < widths.size(); ++width) {
    const std::uint64_t from = width == 0 ? 0 : 1ull << (width - 1);
    const std::uint64_t to = width == 0 ? 0 : width == 64 ? ~0ull : (1ull << width) - 1;
    if (widths[width] || !rows.empty()) rows.push_back({from, to, widths[width]});
  }
  while (!rows.empty() && rows.back().count == 0) rows.pop_back();
  return rows;
}

void Histogram::append_bars(std::string& out) const {
  constexpr std::size_t kWidth = 40;
  const std::vector<Row> all = rows();
  if (all.empty()) return;
  const std::uint64_t most = std::ranges::max_element(all, {}, &Row::count)->count;
  for (const Row& row : all) {
    const auto length = static_cast<std::size_t>(static_cast<double>(row.count) / static_cast<double>(most) * kWidth);
    fmt::format_to(std::back_inserter(out), "{:>20} -> {:<20} : {:>10} |{:<40}|\n", row.from, row.to, row.count,
                   std::string(length, '*'));
  }
}

}  // namespace kevt::record
