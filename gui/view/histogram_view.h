// HistogramView: a histogram as lines: a label, a heat map of its hits over time, a bar of all its hits.
//
// Ranges of numbers share the height that there is; entries have a line of text each.
//
//        17 – 32 │ ░▒▓██▓▒ │ ▇▇▇▇▇▇▇▇ 1 204
//        33 – 64 │   ░░▒   │ ▇▇ 311
#pragma once

#include <QWidget>
#include <optional>

#include "gui/model/histogram_track.h"

namespace kevt::gui {

class HistogramView : public QWidget {
  Q_OBJECT

 public:
  explicit HistogramView(QWidget* parent = nullptr);

  // The chosen line stays chosen if there still is one of its label.
  void setPicture(HistogramPicture picture);
  const HistogramPicture& picture() const { return picture_; }
  // How many ranges a picture of this height has room for.
  std::size_t roomForRanges() const;
  // What is shown where there are no lines.
  void setHint(const QString& hint);
  std::optional<std::size_t> current() const { return current_; }
  void setCurrent(std::optional<std::size_t> line);
  // Places: of a line; of a line's slice, empty where no slices are shown.
  QRectF lineRect(std::size_t line) const;
  QRectF cellRect(std::size_t line, std::size_t slice) const;
  // What a pointer at this place is told.
  QString textAt(QPointF at) const;

  QSize sizeHint() const override { return {500, 200}; }

 Q_SIGNALS:
  void currentChanged();
  void lineWanted();  // the current line: a double click, or Return
  void resized();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Columns {
    double label = 0, heat = 0, bars = 0;  // widths
  };
  Columns columns() const;
  double textHeight() const;
  double lineHeight() const;
  double headHeight() const;
  QRectF barRect(const Columns& wide, std::size_t index) const;
  std::optional<std::size_t> lineAt(QPointF at) const;
  void measure();
  void paintHead(QPainter& painter, const Columns& wide) const;
  void paintLine(QPainter& painter, const Columns& wide, std::size_t index) const;
  void paintText(QPainter& painter, const Columns& wide, std::size_t index) const;

  HistogramPicture picture_;
  QString hint_;
  double label_width_ = 0, count_width_ = 0;
  std::optional<std::size_t> current_;
};

}  // namespace kevt::gui
