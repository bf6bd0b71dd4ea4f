// Draws the rates of the last minute as a small curve beside the number.
#pragma once

#include <QStyledItemDelegate>

namespace kevt::gui {

class SparklineDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace kevt::gui
