// A table that paints only the visible rows.
//
// Problem: Qt's own views keep a section or an item per row: ten million records would take hundreds of megabytes and
// seconds. Idea: the scroll bar counts rows, every row has the same height, and only the columns have a QHeaderView.
#include "gui/view/event_table.h"

#include <QApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include "gui/model/text_forms.h"
#include "gui/view/theme.h"

namespace kevt::gui {

namespace {

// A header that shows the column's rank when sorting by several columns.
class SortHeader : public QHeaderView {
 public:
  SortHeader(EventRows& rows, QWidget* parent) : QHeaderView(Qt::Horizontal, parent), rows_(rows) {}

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override {
    QHeaderView::paintSection(painter, rect, section);
    const auto& order = rows_.sortColumns();
    if (order.size() < 2) return;
    const auto found = std::ranges::find(order, section, &EventRows::SortColumn::column);
    if (found == order.end()) return;
    painter->setPen(palette().color(QPalette::Text));
    painter->drawText(rect.adjusted(0, 0, -16, 0), Qt::AlignRight | Qt::AlignVCenter,
                      QString::number(found - order.begin() + 1) +
                          (found->order == Qt::AscendingOrder ? QStringLiteral("↑") : QStringLiteral("↓")));
  }

 private:
  EventRows& rows_;
};

}  // namespace

EventTable::EventTable(EventRows& rows, QWidget* parent)
    : QAbstractScrollArea(parent), rows_(rows), header_(new SortHeader(rows, this)) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Records"));
  header_->setModel(&rows_);
  header_->setSectionsMovable(true);
  header_->setSectionsClickable(true);
  header_->setSortIndicatorShown(true);
  header_->setSortIndicator(EventRows::Number, Qt::AscendingOrder);
  header_->setHighlightSections(false);
  header_->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header_->setContextMenuPolicy(Qt::CustomContextMenu);
  header_->setToolTip(tr("press: sort · Shift: by this one, too · drag: move · right button: hide and show columns"));
  header_->setAccessibleName(tr("Columns"));
  connect(header_, &QWidget::customContextMenuRequested, this, &EventTable::columnMenu);
  connect(&rows_, &QAbstractItemModel::columnsInserted, this, &EventTable::hideColumns);
  setViewportMargins(0, header_->sizeHint().height(), 0, 0);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  connect(header_, &QHeaderView::sectionResized, viewport(), [this] {
    has_own_widths_ = has_own_widths_ || !is_fitting_;
    layoutBars();
    viewport()->update();
  });
  connect(header_, &QHeaderView::sectionMoved, viewport(), qOverload<>(&QWidget::update));
  connect(header_, &QHeaderView::sortIndicatorChanged, this,
          [this](int section, Qt::SortOrder order) { orderBy(section, order); });
  connect(&rows_, &EventRows::rowsChanged, this, &EventTable::takeRows);
  connect(&rows_, &QAbstractItemModel::modelAboutToBeReset, this, [this] { kept_ = rows_.rowAt(current_); });
  connect(&rows_, &QAbstractItemModel::modelReset, this, [this] {
    current_ = anchor_ = -1;
    if (rows_.rowCount() == 0) fitted_rows_ = 0;  // other records will come
    takeRows();
    if (kept_ != record::kNoRow && !follows_) showRow(kept_);
  });
  fitColumns();
}

// With Shift a column is added to the sort order, or its direction is reversed if it is in the order already.
void EventTable::orderBy(int column, Qt::SortOrder order) {
  std::vector<EventRows::SortColumn> columns;
  if (QApplication::keyboardModifiers() & Qt::ShiftModifier) columns = rows_.sortColumns();
  std::erase_if(columns, [](const EventRows::SortColumn& one) { return one.column == EventRows::Number; });
  if (const auto found = std::ranges::find(columns, column, &EventRows::SortColumn::column); found != columns.end())
    found->order = found->order == Qt::AscendingOrder ? Qt::DescendingOrder : Qt::AscendingOrder;
  else
    columns.push_back({column, order});
  rows_.sortBy(std::move(columns));
  header_->viewport()->update();
}

void EventTable::setHiddenColumns(const QStringList& names) {
  hidden_ = names;
  hideColumns();
}

void EventTable::hideColumns() {
  const bool was_fitting = std::exchange(is_fitting_, true);  // what Qt resizes for it is not the user's width
  for (int column = 0; column < rows_.columnCount(); ++column)
    header_->setSectionHidden(column,
                              hidden_.contains(rows_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString()));
  is_fitting_ = was_fitting;
  layoutBars();
  viewport()->update();
}

void EventTable::columnMenu(const QPoint& at) {
  QMenu menu(this);
  for (int column = 0; column < rows_.columnCount(); ++column) {
    const QString name = rows_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    QAction* action = menu.addAction(name);
    action->setCheckable(true);
    action->setChecked(!hidden_.contains(name));
    connect(action, &QAction::toggled, this, [this, name](bool shows) {
      if (shows)
        hidden_.removeAll(name);
      else
        hidden_.append(name);
      hideColumns();
    });
  }
  menu.exec(header_->mapToGlobal(at));
}

int EventTable::rowHeight() const { return fontMetrics().height() + 4; }
int EventTable::rowsShown() const { return std::max(1, viewport()->height() / rowHeight()); }

void EventTable::takeRows() {
  layoutBars();
  growColumns();
  if (follows_) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  viewport()->update();
}

// Later records may have longer names than the first ones.
void EventTable::growColumns() {
  const int rows = rows_.rowCount();
  if (rows > 0 && rows / 2 >= fitted_rows_ && !has_own_widths_) fit(fitted_rows_ > 0 ? Fit::Wider : Fit::Any);
}

void EventTable::fitColumns() { fit(Fit::Any); }

void EventTable::fit(Fit how) {
  constexpr int kSample = 20;  // the first rows, and the last
  const QFontMetrics metrics(font());
  const int rows = rows_.rowCount();
  fitted_rows_ = rows;
  has_own_widths_ = false;
  is_fitting_ = true;
  static constexpr int kChars[] = {8, 19, 4, 15, 7, 16, 52};
  for (int column = 0; column < rows_.columnCount(); ++column) {
    int wide = column < EventRows::FixedColumns ? kChars[column] : 12;
    QString longest;
    for (int row = 0; row < rows && column >= EventRows::Event; ++row) {
      if (row == kSample) row = std::max(row, rows - kSample);
      const QString text = rows_.data(rows_.index(row, column), Qt::DisplayRole).toString();
      if (text.size() > longest.size()) longest = text;
    }
    int pixels = wide * metrics.averageCharWidth() + 14;
    if (!longest.isEmpty())
      pixels = std::clamp(metrics.horizontalAdvance(longest) + (column == EventRows::Event ? 32 : 18), 56,
                          column == EventRows::Details ? 560 : 260);
    const int name =
        metrics.horizontalAdvance(rows_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString()) + 26;
    const int least = how == Fit::Wider ? header_->sectionSize(column) : 0;  // 0 of a hidden one
    header_->resizeSection(column, std::max({pixels, name, least}));
  }
  is_fitting_ = false;
  layoutBars();
}

void EventTable::layoutBars() {
  verticalScrollBar()->setPageStep(rowsShown());
  verticalScrollBar()->setRange(0, std::max(0, rows_.rowCount() - rowsShown()));
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setRange(0, std::max(0, header_->length() - viewport()->width()));
  header_->setGeometry(viewport()->x(), viewport()->y() - header_->sizeHint().height(), viewport()->width(),
                       header_->sizeHint().height());
}

void EventTable::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layoutBars();
}

void EventTable::scrollContentsBy(int dx, int dy) {
  if (dx) header_->setOffset(horizontalScrollBar()->value());
  if (dy && follows_ && verticalScrollBar()->value() < verticalScrollBar()->maximum()) follows_ = false;
  viewport()->update();
}

std::pair<int, int> EventTable::selection() const {
  if (current_ < 0) return {0, -1};
  const int other = anchor_ < 0 ? current_ : anchor_;
  return {std::min(current_, other), std::max(current_, other)};
}

void EventTable::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), palette().color(QPalette::Base));
  const int height = rowHeight();
  const int first = verticalScrollBar()->value();
  const auto [selected_first, selected_last] = selection();
  const LaneColors colors(palette());
  for (int i = 0; i <= rowsShown() && first + i < rows_.rowCount(); ++i) {
    const int position = first + i;
    const QRect line(0, i * height, viewport()->width(), height);
    const bool is_selected = position >= selected_first && position <= selected_last;
    if (is_selected)
      painter.fillRect(line, palette().color(position == current_ ? QPalette::Highlight : QPalette::Mid));
    else if (position % 2)
      painter.fillRect(line, palette().color(QPalette::AlternateBase));
    painter.setPen(palette().color(is_selected && position == current_ ? QPalette::HighlightedText : QPalette::Text));
    for (int visual = 0; visual < header_->count(); ++visual) {
      const int column = header_->logicalIndex(visual);
      if (header_->isSectionHidden(column)) continue;
      const QRect cell(header_->sectionViewportPosition(column), line.top(), header_->sectionSize(column), height);
      if (cell.right() < 0 || cell.left() > viewport()->width()) continue;
      const QModelIndex index = rows_.index(position, column);
      QRect room = cell.adjusted(6, 0, -6, 0);
      if (column == EventRows::Event) {
        painter.fillRect(QRect(cell.left() + 6, cell.center().y() - 3, 7, 7),
                         colors.event(rows_.data(index, EventRows::EventIndexRole).toUInt()));
        room.setLeft(cell.left() + 18);
      }
      const QString text = rows_.data(index, Qt::DisplayRole).toString();
      if (text.isEmpty()) continue;
      const auto alignment = rows_.data(index, Qt::TextAlignmentRole).value<Qt::Alignment>();
      painter.drawText(room, static_cast<int>(alignment),
                       painter.fontMetrics().elidedText(text, Qt::ElideRight, room.width()));
    }
  }
  paintMarks(painter);
  if (rows_.rowCount() == 0) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect(), Qt::AlignCenter,
                     rows_.filterText().isEmpty() ? tr("no records") : tr("no record passes the filter"));
  }
}

void EventTable::paintMarks(QPainter& painter) {
  if (marks_.empty() || rows_.rowCount() == 0) return;
  const QColor color = LaneColors(palette()).accent;
  const int high = viewport()->height(), right = viewport()->width();
  // One mark per pixel with hits: one binary search per pixel, however many hits there are.
  for (int y = 0; y < high; ++y) {
    const auto position = [&](int at) {
      return static_cast<int>(static_cast<std::int64_t>(at) * rows_.rowCount() / high);
    };
    const int from = position(y), to = std::min(position(y + 1), rows_.rowCount());
    const auto first = std::ranges::lower_bound(marks_, rows_.rowAt(from));
    if (first != marks_.end() && (to >= rows_.rowCount() || *first < rows_.rowAt(std::max(to, from + 1))))
      painter.fillRect(right - 5, y, 5, 2, color);
  }
}

void EventTable::setMarks(std::vector<record::Row> rows) {
  marks_ = std::move(rows);
  viewport()->update();
}

int EventTable::positionAt(int y) const {
  const int position = verticalScrollBar()->value() + y / rowHeight();
  return position < rows_.rowCount() ? position : -1;
}

void EventTable::moveTo(int position, bool extends) {
  if (rows_.rowCount() == 0) return;
  position = std::clamp(position, 0, rows_.rowCount() - 1);
  if (!extends) anchor_ = position;
  current_ = position;
  if (position < verticalScrollBar()->value()) verticalScrollBar()->setValue(position);
  if (position >= verticalScrollBar()->value() + rowsShown()) verticalScrollBar()->setValue(position - rowsShown() + 1);
  viewport()->update();
  setAccessibleDescription(rows_.data(rows_.index(position, 0), Qt::ToolTipRole).toString());
  Q_EMIT rowSelected(rows_.rowAt(position));
}

void EventTable::setCurrentPosition(int position) { moveTo(position, false); }

void EventTable::showRow(record::Row row) {
  const int position = rows_.positionOf(row);
  if (position < 0) return;
  current_ = anchor_ = position;
  if (position < verticalScrollBar()->value() || position >= verticalScrollBar()->value() + rowsShown())
    verticalScrollBar()->setValue(position - rowsShown() / 2);
  viewport()->update();
}

void EventTable::setFollowing(bool follows) {
  follows_ = follows;
  if (follows_) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

void EventTable::mousePressEvent(QMouseEvent* event) {
  const int position = positionAt(static_cast<int>(event->position().y()));
  if (position < 0 ||
      (event->button() == Qt::RightButton && position >= selection().first && position <= selection().second))
    return;
  moveTo(position, event->modifiers() & Qt::ShiftModifier);
}

void EventTable::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton)) return;
  const int position = positionAt(static_cast<int>(event->position().y()));
  if (position >= 0 && position != current_) moveTo(position, true);
}

void EventTable::keyPressEvent(QKeyEvent* event) {
  const bool extends = event->modifiers() & Qt::ShiftModifier;
  switch (event->key()) {
    case Qt::Key_Up:
      return moveTo(current_ - 1, extends);
    case Qt::Key_Down:
      return moveTo(current_ + 1, extends);
    case Qt::Key_PageUp:
      return moveTo(current_ - rowsShown(), extends);
    case Qt::Key_PageDown:
      return moveTo(current_ + rowsShown(), extends);
    case Qt::Key_Home:
      return moveTo(0, extends);
    case Qt::Key_End:
      return moveTo(rows_.rowCount() - 1, extends);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void EventTable::contextMenuEvent(QContextMenuEvent* event) {
  const int position = positionAt(event->y());
  const int column = header_->logicalIndexAt(event->x());
  if (position >= 0 && column >= 0) Q_EMIT cellMenuWanted(rows_.index(position, column), event->globalPos());
}

bool EventTable::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int position = positionAt(help->pos().y());
    QToolTip::showText(
        help->globalPos(),
        position < 0 ? QString() : plainTip(rows_.data(rows_.index(position, 0), Qt::ToolTipRole).toString()),
        viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace kevt::gui
