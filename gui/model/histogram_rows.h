// HistogramRows: the entries of a histogram as a table: keys, hits, share, values; sorted by any column.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "gui/model/histogram_track.h"

namespace kevt::gui {

class HistogramRows : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  // nullptr: nothing. The order stays that of the last sort(); before the first one it is that of the histogram.
  void show(std::shared_ptr<const HistogramTrack> track);
  std::uint32_t entryAt(int row) const { return order_[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  int keyColumns() const { return static_cast<int>(track_->head().keys.size()); }
  void order();
  bool isLess(std::uint32_t a, std::uint32_t b) const;

  std::shared_ptr<const HistogramTrack> track_;
  std::vector<std::uint32_t> order_;
  std::size_t columns_ = 0;
  int sorted_by_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
};

}  // namespace kevt::gui
