// A cell's colour goes with the logarithm of its hits: one slow call stands out beside a million fast ones.
#include "gui/view/histogram_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/model/row_text.h"
#include "gui/view/theme.h"

namespace kevt::gui {

namespace {

constexpr double kGap = 8;  // pixels between columns
constexpr std::size_t kSlicesWorthAMap = 2;
constexpr double kLowestRange = 4;  // pixels
constexpr double kRange = 8;        // what a range is given where there may be more or fewer of them

QString seconds(double value) { return QString::number(value, 'f', 1) + QStringLiteral(" s"); }

}  // namespace

HistogramView::HistogramView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Histogram"));
}

void HistogramView::setPicture(HistogramPicture picture) {
  const QString chosen = current_ ? picture_.lines[*current_].label : QString();
  picture_ = std::move(picture);
  current_.reset();
  if (!chosen.isNull()) {
    const auto line = std::ranges::find(picture_.lines, chosen, &HistogramLine::label);
    if (line != picture_.lines.end()) current_ = static_cast<std::size_t>(line - picture_.lines.begin());
  }
  measure();
  update();
  Q_EMIT currentChanged();
}

void HistogramView::setHint(const QString& hint) {
  hint_ = hint;
  update();
}

void HistogramView::measure() {
  label_width_ = count_width_ = 0;
  for (const HistogramLine& line : picture_.lines) {
    label_width_ = std::max<double>(label_width_, fontMetrics().horizontalAdvance(line.label));
    count_width_ = std::max<double>(count_width_, fontMetrics().horizontalAdvance(grouped(line.hits)));
  }
  const double lowest = picture_.is_scale ? kLowestRange : textHeight();
  setMinimumHeight(static_cast<int>(headHeight() + lowest * static_cast<double>(picture_.lines.size())) + 2);
}

void HistogramView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  Q_EMIT resized();
}

std::size_t HistogramView::roomForRanges() const {
  constexpr double kFewest = 12, kMost = 64;
  return static_cast<std::size_t>(std::clamp((height() - textHeight()) / kRange, kFewest, kMost));
}

void HistogramView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) measure();
}

double HistogramView::textHeight() const { return fontMetrics().height() + 2; }

double HistogramView::lineHeight() const {
  if (!picture_.is_scale || picture_.lines.empty()) return textHeight();
  return std::clamp((height() - headHeight()) / static_cast<double>(picture_.lines.size()), kLowestRange, textHeight());
}

double HistogramView::headHeight() const { return picture_.slices.size() >= kSlicesWorthAMap ? textHeight() : 0; }

HistogramView::Columns HistogramView::columns() const {
  const double all = width();
  Columns wide;
  wide.label = std::min(label_width_ + kGap, all * 0.4);
  const double rest = std::max(0.0, all - wide.label - kGap);
  wide.heat = picture_.slices.size() >= kSlicesWorthAMap ? rest * 0.6 : 0;
  wide.bars = rest - wide.heat - (wide.heat > 0 ? kGap : 0);
  return wide;
}

QRectF HistogramView::lineRect(std::size_t line) const {
  return {0, headHeight() + static_cast<double>(line) * lineHeight(), static_cast<double>(width()), lineHeight()};
}

QRectF HistogramView::cellRect(std::size_t line, std::size_t slice) const {
  const Columns wide = columns();
  if (wide.heat <= 0) return {};
  const double cell = wide.heat / static_cast<double>(picture_.slices.size());
  const QRectF row = lineRect(line);
  return {wide.label + kGap + static_cast<double>(slice) * cell, row.top(), cell, row.height()};
}

std::optional<std::size_t> HistogramView::lineAt(QPointF at) const {
  const double line = (at.y() - headHeight()) / lineHeight();
  if (line < 0 || line >= static_cast<double>(picture_.lines.size())) return std::nullopt;
  return static_cast<std::size_t>(line);
}

QString HistogramView::textAt(QPointF at) const {
  const auto index = lineAt(at);
  if (!index) return {};
  const HistogramLine& line = picture_.lines[*index];
  for (std::size_t slice = 0; slice < picture_.slices.size() && columns().heat > 0; ++slice) {
    const QRectF cell = cellRect(*index, slice);
    if (at.x() < cell.left() || at.x() >= cell.right()) continue;
    const auto& [from, to] = picture_.slices[slice];
    return tr("%1: %2 hits, %3 to %4").arg(line.label, grouped(line.over_time[slice]), seconds(from), seconds(to));
  }
  return tr("%1: %2 hits").arg(line.label, grouped(line.hits));
}

void HistogramView::paintHead(QPainter& painter, const Columns& wide) const {
  if (wide.heat <= 0) return;
  painter.setPen(LaneColors(palette()).faint);
  const QRectF place(wide.label + kGap, 0, wide.heat, headHeight());
  painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, seconds(picture_.slices.front().first));
  painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter, seconds(picture_.slices.back().second));
}

void HistogramView::paintLine(QPainter& painter, const Columns& wide, std::size_t index) const {
  const LaneColors colors(palette());
  const HistogramLine& line = picture_.lines[index];
  const QRectF row = lineRect(index);
  const double gap = row.height() > 6 ? 0.5 : 0;
  if (index == current_) {
    painter.fillRect(row, colors.selection);
  } else if (index % 2 == 1) {
    painter.fillRect(row, colors.band);
  }
  const double most_in_cell = std::log2(1.0 + static_cast<double>(picture_.most_in_cell));
  for (std::size_t slice = 0; wide.heat > 0 && slice < line.over_time.size(); ++slice) {
    if (line.over_time[slice] == 0) continue;
    const double part = std::log2(1.0 + static_cast<double>(line.over_time[slice])) / most_in_cell;
    painter.fillRect(cellRect(index, slice).adjusted(0, gap, 0, -gap),
                     mixed(colors.background, colors.accent, 0.15 + 0.85 * part));
  }
  const QRectF bar = barRect(wide, index);
  painter.fillRect(bar.adjusted(0, 2 * gap, 0, -2 * gap), colors.events[0]);
}

QRectF HistogramView::barRect(const Columns& wide, std::size_t index) const {
  const HistogramLine& line = picture_.lines[index];
  const QRectF row = lineRect(index);
  const double left = wide.label + kGap + wide.heat + (wide.heat > 0 ? kGap : 0);
  if (line.hits == 0) return {left, row.top(), 0, row.height()};
  const double room = std::max(0.0, wide.bars - count_width_ - 2 * kGap);
  const double part = static_cast<double>(line.hits) / static_cast<double>(picture_.most_in_line);
  return {left, row.top(), std::max(room * part, 1.0), row.height()};
}

void HistogramView::paintText(QPainter& painter, const Columns& wide, std::size_t index) const {
  const LaneColors colors(palette());
  const HistogramLine& line = picture_.lines[index];
  const double middle = lineRect(index).center().y();
  const auto at = [&](double left, double width) {
    return QRectF(left, middle - textHeight() / 2, width, textHeight());
  };
  painter.setPen(colors.text);
  const QString label = fontMetrics().elidedText(line.label, Qt::ElideMiddle, static_cast<int>(wide.label - kGap));
  painter.drawText(at(0, wide.label), Qt::AlignRight | Qt::AlignVCenter, label);
  if (line.hits)
    painter.drawText(at(barRect(wide, index).right() + kGap / 2, count_width_ + kGap), Qt::AlignLeft | Qt::AlignVCenter,
                     grouped(line.hits));
}

void HistogramView::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const LaneColors colors(palette());
  painter.fillRect(rect(), colors.background);
  if (picture_.lines.empty()) {
    painter.setPen(colors.faint);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, hint_);
    return;
  }
  const Columns wide = columns();
  paintHead(painter, wide);
  for (std::size_t i = 0; i < picture_.lines.size(); ++i)
    if (lineRect(i).intersects(event->rect())) paintLine(painter, wide, i);
  double free_from = 0;  // where the next text has room
  for (std::size_t i = 0; i < picture_.lines.size(); ++i) {
    const double top = lineRect(i).center().y() - textHeight() / 2;
    if (top < free_from - 1 || top + textHeight() > height() + 2) continue;
    paintText(painter, wide, i);
    free_from = top + textHeight();
  }
}

void HistogramView::setCurrent(std::optional<std::size_t> line) {
  if (line == current_) return;
  current_ = line;
  setAccessibleDescription(
      line ? tr("%1: %2 hits").arg(picture_.lines[*line].label, grouped(picture_.lines[*line].hits)) : QString());
  update();
  Q_EMIT currentChanged();
}

void HistogramView::mousePressEvent(QMouseEvent* event) { setCurrent(lineAt(event->position())); }

void HistogramView::mouseDoubleClickEvent(QMouseEvent* event) {
  setCurrent(lineAt(event->position()));
  if (current_) Q_EMIT lineWanted();
}

void HistogramView::mouseMoveEvent(QMouseEvent* event) {
  const QString text = textAt(event->position());
  if (text.isEmpty()) return QToolTip::hideText();
  QToolTip::showText(event->globalPosition().toPoint(), QStringLiteral("<span>%1</span>").arg(text.toHtmlEscaped()),
                     this);
}

void HistogramView::keyPressEvent(QKeyEvent* event) {
  const std::size_t lines = picture_.lines.size();
  if (lines == 0) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Up:
      return setCurrent(current_ ? (*current_ > 0 ? *current_ - 1 : 0) : lines - 1);
    case Qt::Key_Down:
      return setCurrent(current_ ? std::min(*current_ + 1, lines - 1) : 0);
    case Qt::Key_Home:
      return setCurrent(0);
    case Qt::Key_End:
      return setCurrent(lines - 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_) Q_EMIT lineWanted();
      return;
    case Qt::Key_Escape:
      return setCurrent(std::nullopt);
    default:
      return QWidget::keyPressEvent(event);
  }
}

}  // namespace kevt::gui
