// FlameView: a call tree as a flame graph, callers above their callees. A click zooms, a search paints what it finds;
// of two trees side by side, what has become heavier is red, what has become lighter blue.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "tracefs-compat/record/analysis/call_tree.h"

namespace kevt::gui {

class FlameView : public QWidget {
  Q_OBJECT

 public:
  explicit FlameView(QWidget* parent = nullptr);

  // Zoomed to the whole; nullptr: nothing is shown.
  void setTree(std::shared_ptr<const record::CallTree> tree);
  const record::CallTree* tree() const { return tree_.get(); }
  // Frames whose name has this text; empty: none.
  void setSearch(const QString& text);
  // The part of the whole (0 to 1) that lies in frames found; one inside another counts once.
  double foundPart() const;

  // The node that fills the width; 0: the whole.
  std::size_t zoomed() const { return zoomed_; }
  void zoomTo(std::size_t node);
  std::optional<std::size_t> current() const { return current_; }
  // Where the node is painted; an empty one: it is outside the zoom, or narrower than half a pixel.
  QRectF boxOf(std::size_t node) const;
  // What a pointer on the node is told.
  QString textOf(std::size_t node) const;

  QSize sizeHint() const override { return {600, 300}; }

 Q_SIGNALS:
  void currentChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Box {
    std::size_t node = 0;
    QRectF place;
  };
  // Those that are painted: the zoomed node's callers, itself, and what is wide enough inside it.
  std::vector<Box> boxes() const;
  std::optional<std::size_t> nodeAt(QPointF at) const;
  void setCurrent(std::optional<std::size_t> node);
  QColor colorOf(const record::CallTree::Node& node) const;
  double changeOf(const record::CallTree::Node& node) const;
  bool isShown(std::size_t node) const;
  bool isFound(std::size_t node) const { return node < found_.size() && found_[node]; }

  std::shared_ptr<const record::CallTree> tree_;
  std::vector<std::size_t> callers_;  // of the zoomed node, outermost first
  std::vector<bool> found_;
  QString search_;
  std::size_t zoomed_ = 0;
  std::optional<std::size_t> current_;
  double most_changed_ = 0;
};

}  // namespace kevt::gui
