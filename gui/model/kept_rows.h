// KeptRows: the records that a filter leaves, in the order of time, of all lanes and of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tracefs-compat/record/store/store_query.h"

namespace kevt::gui {

// Rows in ascending order. A copy shares what is full, so a list that grows is handed on again and again.
class RowList {
 public:
  RowList() = default;
  explicit RowList(const std::vector<record::Row>& rows);

  std::size_t size() const { return size_; }
  record::Row operator[](std::size_t i) const { return (*pieces_[i / kPiece])[i % kPiece]; }
  // Position of the first one at or behind the row; size() when there is none.
  std::size_t lower_bound(record::Row row) const;
  bool contains(record::Row row) const;
  void add(record::Row row);  // behind all that are there

 private:
  static constexpr std::size_t kPiece = 4096;
  using Piece = std::vector<record::Row>;
  std::vector<std::shared_ptr<Piece>> pieces_;  // all but the last one are full
  std::size_t size_ = 0;
};

class KeptRows {
 public:
  KeptRows();
  // The same filter's, before more rows were added?
  bool isContinued(const KeptRows& earlier) const { return filter_ == earlier.filter_; }
  // `row` is behind all that were added.
  void add(const record::StoreView& view, record::Row row);
  const RowList& all() const { return all_; }
  // Of a lane; empty where it has none.
  const RowList& of(record::LaneKey lane) const;
  // A slice is kept when one of its ends is: `fd > 3` is a word about the return, and means the call.
  bool keepsSlice(record::Row begin, record::Row end) const { return all_.contains(begin) || all_.contains(end); }

 private:
  std::uint64_t filter_;  // no two that were not copied from each other have the same
  RowList all_;
  std::vector<RowList> lanes_[record::kAxes];  // by CPU number, task, event
};

}  // namespace kevt::gui
