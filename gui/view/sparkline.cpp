// A sparkline: as wide as there is room in the cell, and scaled to its own greatest value.
#include "gui/view/sparkline.h"

#include <QPainter>
#include <algorithm>

#include "gui/model/event_tree.h"
#include "gui/view/theme.h"

namespace kevt::gui {

void SparklineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  const auto rates = index.data(EventTree::RatesRole).value<QList<double>>();
  if (rates.size() < 2) return;
  const LaneColors colors(option.palette);
  const QRect room = option.rect.adjusted(72, 3, -4, -3);
  if (room.width() < 12) return;
  const double most = std::max(1.0, *std::ranges::max_element(rates));
  painter->save();
  const qsizetype shown = std::min<qsizetype>(rates.size(), room.width() / 2);
  for (qsizetype i = 0; i < shown; ++i) {
    const double part = rates[rates.size() - shown + i] / most;
    const int high = part > 0 ? std::max(1, static_cast<int>(room.height() * part)) : 0;
    painter->fillRect(room.right() - static_cast<int>(shown - i) * 2, room.bottom() - high + 1, 2, high, colors.accent);
  }
  painter->restore();
}

QSize SparklineDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.setWidth(std::max(size.width(), 150));
  return size;
}

}  // namespace kevt::gui
