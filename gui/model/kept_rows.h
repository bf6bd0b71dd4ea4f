// KeptRows: the records that a filter keeps, in the order of time: all of them, and by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tracefs-compat/record/store/store_query.h"

namespace kevt::gui {

// Rows in ascending order. A copy shares the full pieces, so a growing list can be copied often.
class RowList {
 public:
  RowList() = default;
  explicit RowList(const std::vector<record::Row>& rows);

  std::size_t size() const { return size_; }
  record::Row operator[](std::size_t i) const { return (*pieces_[i / kPiece])[i % kPiece]; }
  // Position of the first row that is `row` or later; size() if there is none.
  std::size_t lower_bound(record::Row row) const;
  bool contains(record::Row row) const;
  void add(record::Row row);  // `row` is greater than all in the list

 private:
  static constexpr std::size_t kPiece = 4096;
  using Piece = std::vector<record::Row>;
  std::vector<std::shared_ptr<Piece>> pieces_;  // all but the last one are full
  std::size_t size_ = 0;
};

class KeptRows {
 public:
  KeptRows();
  // Whether `earlier` is of the same filter, before more rows were added.
  bool isContinued(const KeptRows& earlier) const { return filter_ == earlier.filter_; }
  // `row` is greater than all added before.
  void add(const record::StoreView& view, record::Row row);
  const RowList& all() const { return all_; }
  // The rows of one lane; may be empty.
  const RowList& of(record::LaneKey lane) const;
  // A slice is kept if its begin or end record is: a filter `ret > 3` matches the return and means the whole call.
  bool keepsSlice(record::Row begin, record::Row end) const { return all_.contains(begin) || all_.contains(end); }

 private:
  std::uint64_t filter_;  // the same only in copies of one object
  RowList all_;
  std::vector<RowList> lanes_[record::kAxes];  // by CPU number, task, event
};

}  // namespace kevt::gui
