// RowSubset: some of a store's records, chosen by a filter or a search: in the order of time, and by lane.
//
// Of each chunk it has the places of its records: 2 bytes each, and 6 for the three lanes of each; and a bit for each
// record of the chunk, if it has any. Of a chunk that it has wholly it has none of these.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/row_bits.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::record {

class RowSubset {
 public:
  // Records of one chunk. Never changes.
  struct Part {
    Row first_row = 0;
    std::uint32_t seen = 0;  // how many rows the chunk had
    std::uint32_t size = 0;  // how many of them are chosen
    std::array<LaneGroups, kAxes> groups;
    // Empty if the part is whole: they are the chunk's, up to `seen`.
    std::vector<std::uint16_t> places;  // ascending
    RowBits bits;                       // the same; empty: there are none
    std::array<std::vector<std::uint16_t>, kAxes> order;

    bool is_whole() const { return size == seen; }
    bool contains(std::uint32_t place) const {
      return is_whole() ? place < seen : place / 64 < bits.size() && has_bit(bits, place);
    }
  };
  // `bits`: of all rows of the chunk.
  static std::shared_ptr<const Part> part_of(const StoreChunk& chunk, RowBits bits);

  // No record, of another choice than all other subsets'.
  RowSubset();
  // These rows, which ascend.
  RowSubset(const StoreView& view, std::span<const Row> rows);
  // The same choice of a view that has grown: the chunks from `first` on have these parts.
  RowSubset continued(std::size_t first, std::vector<std::shared_ptr<const Part>> parts) const;
  // Whether `earlier` is of the same choice, before more records were there.
  bool is_continued(const RowSubset& earlier) const { return choice_ == earlier.choice_; }

  std::size_t size() const { return size_; }
  Row operator[](std::size_t i) const;  // i < size()
  // Position of the first row that is `row` or later; size() if there is none.
  std::size_t lower_bound(Row row) const;
  bool contains(Row row) const {
    if (parts_.empty()) return false;
    const Part& part = *parts_[chunk_with(first_rows_, row)];
    return part.contains(row - part.first_row);
  }
  // A slice is kept if its begin or end record is: a filter `ret > 3` matches the return and means the whole call.
  bool keeps_slice(Row begin, Row end) const { return contains(begin) || contains(end); }
  std::uint64_t of(Axis axis, std::uint32_t id) const { return totals_.of(axis, id); }
  // How many rows of the view were looked at, from the first one on.
  Row seen() const { return parts_.empty() ? 0 : parts_.back()->first_row + parts_.back()->seen; }
  // Of the view's chunk with this number; nullptr: that one was not there yet.
  const Part* part(std::size_t chunk) const { return chunk < parts_.size() ? parts_[chunk].get() : nullptr; }

 private:
  void append(std::shared_ptr<const Part> part);

  std::uint64_t choice_;  // the same only in what was continued from one object
  std::vector<std::shared_ptr<const Part>> parts_;
  std::vector<Row> first_rows_;      // of each part
  std::vector<std::size_t> before_;  // of each part: how many rows lie in the parts before
  std::size_t size_ = 0;
  StoreTotals totals_;
};

}  // namespace kevt::record
