// Rows that a filter keeps.
//
// Problem: with a live trace the filter keeps more rows ten times a second, while painters in other threads still read
// the earlier list. Idea: pieces never change once full, and the last one is copied before adding if another list may
// share it.
#include "gui/model/kept_rows.h"

#include <algorithm>
#include <atomic>
#include <ranges>

namespace kevt::gui {

RowList::RowList(const std::vector<record::Row>& rows) {
  for (const record::Row row : rows) add(row);
}

void RowList::add(record::Row row) {
  if (size_ % kPiece == 0) {
    pieces_.push_back(std::make_shared<Piece>());
  } else if (pieces_.back().use_count() > 1) {
    pieces_.back() = std::make_shared<Piece>(*pieces_.back());
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);  // reads by former sharers are over
  }
  pieces_.back()->push_back(row);
  ++size_;
}

std::size_t RowList::lower_bound(record::Row row) const {
  const auto piece = std::ranges::partition_point(pieces_, [&](const auto& one) { return one->back() < row; });
  if (piece == pieces_.end()) return size_;
  const auto at = std::ranges::lower_bound(**piece, row);
  return static_cast<std::size_t>(piece - pieces_.begin()) * kPiece + static_cast<std::size_t>(at - (*piece)->begin());
}

bool RowList::contains(record::Row row) const {
  const std::size_t at = lower_bound(row);
  return at < size_ && (*this)[at] == row;
}

KeptRows::KeptRows() {
  static std::atomic<std::uint64_t> next;
  filter_ = ++next;
}

void KeptRows::add(const record::StoreView& view, record::Row row) {
  all_.add(row);
  const std::uint32_t ids[record::kAxes] = {view.cpu(row), view.task(row), view.event(row)};
  for (std::size_t axis = 0; axis < record::kAxes; ++axis) {
    if (ids[axis] >= lanes_[axis].size()) lanes_[axis].resize(ids[axis] + 1);
    lanes_[axis][ids[axis]].add(row);
  }
}

const RowList& KeptRows::of(record::LaneKey lane) const {
  static const RowList kNone;
  if (!lane.axis) return all_;
  const std::vector<RowList>& lanes = lanes_[static_cast<std::size_t>(*lane.axis)];
  return lane.id < lanes.size() ? lanes[lane.id] : kNone;
}

}  // namespace kevt::gui
