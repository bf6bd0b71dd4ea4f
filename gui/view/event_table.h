// EventTable: a table over EventRows that keeps nothing per row: 2^31 rows cost what one screen of them costs.
#pragma once

#include <QAbstractScrollArea>
#include <optional>
#include <set>
#include <vector>

#include "gui/model/event_rows.h"

class QHeaderView;

namespace kevt::gui {

class EventTable : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit EventTable(EventRows& rows, QWidget* parent = nullptr);

  EventRows& rows() { return rows_; }
  QHeaderView& header() { return *header_; }
  int currentPosition() const { return current_; }
  void setCurrentPosition(int position);
  // Scrolls to the store's row, or to the first shown row after it.
  void showRow(record::Row row);
  // Stays at the end while rows are added.
  void setFollowing(bool follows);
  bool isFollowing() const { return follows_; }
  // The selected positions, [first, last].
  std::pair<int, int> selection() const;
  void fitColumns();
  // By name; a column that appears later is hidden when it appears.
  QStringList hiddenColumns() const { return hidden_; }
  void setHiddenColumns(const QStringList& names);
  // Rows to be marked at the right edge (hits of a search), in the order of time.
  void setMarks(std::vector<record::Row> rows);

 Q_SIGNALS:
  void rowSelected(kevt::record::Row row);
  void cellMenuWanted(const QModelIndex& index, const QPoint& global);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  int rowHeight() const;
  int rowsShown() const;
  int positionAt(int y) const;
  void layoutBars();
  void hideColumns();
  void columnMenu(const QPoint& at);
  void paintMarks(QPainter& painter);
  void takeRows();
  enum class Fit { Any, Wider };
  void fit(Fit how);
  void growColumns();
  void moveTo(int position, bool extends);
  void orderBy(int column, Qt::SortOrder order);

  EventRows& rows_;
  QHeaderView* header_;
  int current_ = -1, anchor_ = -1;
  std::vector<record::Row> marks_;
  QStringList hidden_;
  record::Row kept_ = record::kNoRow;  // the current row before a filter or sort
  bool follows_ = false;
  int fitted_rows_ = 0;  // how many there were when columns were fitted
  bool is_fitting_ = false, has_own_widths_ = false;
};

}  // namespace kevt::gui
