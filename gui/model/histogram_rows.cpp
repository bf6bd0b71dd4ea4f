#include "gui/model/histogram_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/model/row_text.h"

namespace kevt::gui {

namespace {

// Whole numbers in groups of digits, averages with two decimals.
QString groupedNumber(double number) {
  constexpr double kExact = 9e15;
  if (number < 0 || number > kExact || number != std::floor(number))
    return QString::number(number, 'f', number == std::floor(number) ? 0 : 2);
  return grouped(static_cast<std::uint64_t>(number));
}

}  // namespace

// A view that is reset forgets what is chosen in it, so it is told only what has changed where it can be.
void HistogramRows::show(std::shared_ptr<const HistogramTrack> track) {
  const std::size_t columns = track ? track->head().keys.size() + 2 + track->head().values.size() : 0;
  const bool is_same = track && columns == columns_ && track->order().size() == order_.size() && !order_.empty();
  if (!is_same) beginResetModel();
  track_ = std::move(track);
  if (columns != columns_) sorted_by_ = -1;
  columns_ = columns;
  order();
  if (!is_same) return endResetModel();
  Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

int HistogramRows::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

int HistogramRows::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_);
}

QVariant HistogramRows::data(const QModelIndex& index, int role) const {
  if (!track_ || !index.isValid()) return {};
  const int column = index.column(), keys = keyColumns();
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((column < keys ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const record::HistFileRow& row = track_->entries()[entryAt(index.row())];
  if (column < keys) return QString::fromStdString(row.keys[static_cast<std::size_t>(column)].text);
  if (column == keys)
    return row.at_least == row.hits ? grouped(row.hits)
                                    : tr("%1 (at least %2)").arg(grouped(row.hits), grouped(row.at_least));
  if (column == keys + 1)
    return track_->hits() == 0
               ? QString()
               : QString::number(100 * static_cast<double>(row.hits) / static_cast<double>(track_->hits()), 'f', 2) +
                     QStringLiteral(" %");
  const auto& value = row.values[static_cast<std::size_t>(column - keys - 2)];
  return value ? groupedNumber(*value) : QString();
}

QVariant HistogramRows::headerData(int section, Qt::Orientation orientation, int role) const {
  if (!track_ || orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  const int keys = keyColumns();
  if (section < keys) return titleOf(track_->head().keys[static_cast<std::size_t>(section)]);
  if (section == keys) return tr("Hits");
  if (section == keys + 1) return tr("Share");
  return titleOf(track_->head().values[static_cast<std::size_t>(section - keys - 2)]);
}

void HistogramRows::sort(int column, Qt::SortOrder direction) {
  beginResetModel();
  sorted_by_ = column;
  direction_ = direction;
  order();
  endResetModel();
}

bool HistogramRows::isLess(std::uint32_t a, std::uint32_t b) const {
  const record::HistFileRow& left = track_->entries()[a];
  const record::HistFileRow& right = track_->entries()[b];
  const int keys = keyColumns();
  if (sorted_by_ >= keys + 2) {
    const auto value = static_cast<std::size_t>(sorted_by_ - keys - 2);
    return left.values[value] < right.values[value];
  }
  if (sorted_by_ >= keys) return left.hits < right.hits;
  const auto& one = left.keys[static_cast<std::size_t>(sorted_by_)];
  const auto& other = right.keys[static_cast<std::size_t>(sorted_by_)];
  return one.range && other.range ? one.range < other.range : one.text < other.text;
}

void HistogramRows::order() {
  order_ = track_ ? track_->order() : std::vector<std::uint32_t>();
  if (sorted_by_ < 0 || static_cast<std::size_t>(sorted_by_) >= columns_) return;
  std::ranges::stable_sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return direction_ == Qt::AscendingOrder ? isLess(a, b) : isLess(b, a);
  });
}

}  // namespace kevt::gui
