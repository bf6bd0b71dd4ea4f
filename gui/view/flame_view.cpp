// Nodes lie depth first, each with the index behind its last callee: what is too narrow is skipped with all inside it,
// so that painting takes as long as the picture is large, not as the tree.
#include "gui/view/flame_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/view/theme.h"

namespace kevt::gui {

namespace {

constexpr double kNarrowest = 0.5;  // pixels

std::uint32_t hash_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

FlameView::FlameView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Flame graph"));
  setMinimumHeight(80);
}

void FlameView::setTree(std::shared_ptr<const record::CallTree> tree) {
  tree_ = std::move(tree);
  zoomed_ = 0;
  callers_.clear();
  most_changed_ = 0;
  if (tree_ && tree_->compares())
    for (const record::CallTree::Node& node : tree_->nodes())
      most_changed_ = std::max(most_changed_, std::abs(changeOf(node)));
  std::size_t deepest = 0;
  if (tree_)
    for (const record::CallTree::Node& node : tree_->nodes()) deepest = std::max(deepest, node.depth);
  setMinimumHeight(std::max(80, static_cast<int>(deepest + 1) * (fontMetrics().height() + 3)));
  setCurrent(std::nullopt);
  setSearch(search_);
}

void FlameView::setSearch(const QString& text) {
  search_ = text;
  found_.assign(tree_ ? tree_->nodes().size() : 0, false);
  const std::string wanted = text.toLower().toStdString();
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  if (tree_ && !wanted.empty())
    for (std::size_t i = 0; i < found_.size(); ++i)
      found_[i] = !std::ranges::search(tree_->nodes()[i].name, wanted, {}, lower).empty();
  update();
}

// Wide enough to be painted as the zoom is.
bool FlameView::isShown(std::size_t node) const {
  const auto& nodes = tree_->nodes();
  const record::CallTree::Node& whole = nodes[zoomed_];
  const bool is_inside = node >= zoomed_ && node < whole.end;
  return is_inside && static_cast<double>(nodes[node].weight) * width() >=
                          kNarrowest * static_cast<double>(std::max<std::uint64_t>(whole.weight, 1));
}

double FlameView::foundPart() const {
  if (!tree_) return 0;
  const auto& nodes = tree_->nodes();
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < nodes.size();) {
    if (isFound(i)) found += nodes[i].weight;
    i = isFound(i) ? nodes[i].end : i + 1;
  }
  return static_cast<double>(found) / static_cast<double>(std::max<std::uint64_t>(nodes.front().weight, 1));
}

void FlameView::zoomTo(std::size_t node) {
  if (!tree_ || node >= tree_->nodes().size() || (node != 0 && tree_->nodes()[node].weight == 0)) return;
  zoomed_ = node;
  callers_.clear();
  for (std::size_t i = 0; i < node; ++i)
    if (tree_->nodes()[i].end > node) callers_.push_back(i);
  update();
}

std::vector<FlameView::Box> FlameView::boxes() const {
  std::vector<Box> found;
  if (!tree_) return found;
  const auto& nodes = tree_->nodes();
  const double row = fontMetrics().height() + 3;
  for (std::size_t i = 0; i < callers_.size(); ++i)
    found.push_back({callers_[i], QRectF(0, static_cast<double>(i) * row, width(), row)});
  const record::CallTree::Node& whole = nodes[zoomed_];
  const double pixels = width() / static_cast<double>(std::max<std::uint64_t>(whole.weight, 1));
  for (std::size_t i = zoomed_; i < whole.end;) {
    const record::CallTree::Node& node = nodes[i];
    const double wide = static_cast<double>(node.weight) * pixels;
    if (wide < kNarrowest) {
      i = node.end;
      continue;
    }
    found.push_back({i, QRectF(static_cast<double>(node.begin - whole.begin) * pixels,
                               static_cast<double>(node.depth) * row, wide, row)});
    ++i;
  }
  return found;
}

QRectF FlameView::boxOf(std::size_t node) const {
  const std::vector<Box> all = boxes();
  const auto it = std::ranges::find(all, node, &Box::node);
  return it == all.end() ? QRectF() : it->place;
}

std::optional<std::size_t> FlameView::nodeAt(QPointF at) const {
  for (const Box& box : boxes())
    if (box.place.contains(at)) return box.node;
  return std::nullopt;
}

QString FlameView::textOf(std::size_t index) const {
  const record::CallTree::Node& node = tree_->nodes()[index];
  const record::CallTree::Node& all = tree_->nodes().front();
  const auto part = [](std::uint64_t weight, std::uint64_t whole) {
    return QString::number(100 * static_cast<double>(weight) / static_cast<double>(std::max<std::uint64_t>(whole, 1)),
                           'f', 2);
  };
  const QString counts = QString::fromStdString(std::string(tree_->counts()));
  QString text = tr("%1: %2 %3, %4 %; own %5")
                     .arg(QString::fromStdString(node.name), QString::number(node.weight), counts,
                          part(node.weight, all.weight), QString::number(node.own));
  if (tree_->compares()) text += tr("; before %1, %2 %").arg(node.before).arg(part(node.before, all.before));
  return text;
}

double FlameView::changeOf(const record::CallTree::Node& node) const {
  const record::CallTree::Node& all = tree_->nodes().front();
  return static_cast<double>(node.weight) / static_cast<double>(std::max<std::uint64_t>(all.weight, 1)) -
         static_cast<double>(node.before) / static_cast<double>(std::max<std::uint64_t>(all.before, 1));
}

// Light enough for black text in either theme.
QColor FlameView::colorOf(const record::CallTree::Node& node) const {
  if (tree_->compares()) {
    const double change = most_changed_ > 0 ? changeOf(node) / most_changed_ : 0;
    return QColor::fromHslF(change >= 0 ? 0.0 : 0.6, 0.85, 0.95 - 0.3 * std::min(std::abs(change), 1.0));
  }
  const std::uint32_t hash = hash_of(node.name);
  return QColor::fromHsl(static_cast<int>(15 + hash % 40), 200, static_cast<int>(165 + (hash >> 8) % 40));
}

void FlameView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const LaneColors colors(palette());
  painter.fillRect(rect(), colors.background);
  if (!tree_ || tree_->nodes().front().weight == 0) {
    painter.setPen(colors.faint);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("No stacks and no calls here. Records have stacks with kevtrace run --stack, or where "
                        "options/userstacktrace is on (page Directory); calls are a p and an r probe of a function."));
    return;
  }
  const int ascent = fontMetrics().ascent();
  for (const Box& box : boxes()) {
    const record::CallTree::Node& node = tree_->nodes()[box.node];
    const bool is_caller = box.node < zoomed_;
    QColor fill = isFound(box.node) ? QColor(0xe6, 0x7f, 0xe6) : colorOf(node);
    if (is_caller) fill = fill.darker(120);
    const QRectF place = box.place.adjusted(0, 0, box.place.width() > 3 ? -1 : 0, -1);
    painter.fillRect(place, fill);
    if (box.node == current_) {
      painter.setPen(QPen(Qt::black, 2));
      painter.drawRect(place.adjusted(1, 1, -1, -1));
    }
    if (place.width() < 24) continue;
    painter.setPen(Qt::black);
    const QString name = fontMetrics().elidedText(QString::fromStdString(node.name), Qt::ElideRight,
                                                  static_cast<int>(place.width()) - 6);
    painter.drawText(QPointF(place.left() + 3, place.top() + ascent + 1), name);
  }
}

void FlameView::setCurrent(std::optional<std::size_t> node) {
  if (current_ == node) return;
  current_ = node;
  setAccessibleDescription(node ? textOf(*node) : QString());
  update();
  Q_EMIT currentChanged();
}

void FlameView::mousePressEvent(QMouseEvent* event) {
  const auto node = nodeAt(event->position());
  if (event->button() == Qt::RightButton) return zoomTo(0);
  if (!node) return;
  setCurrent(node);
  zoomTo(*node);
}

void FlameView::mouseMoveEvent(QMouseEvent* event) {
  const auto node = nodeAt(event->position());
  setCurrent(node);
  if (node)
    QToolTip::showText(event->globalPosition().toPoint(),
                       QStringLiteral("<span>%1</span>").arg(textOf(*node).toHtmlEscaped()), this);
  else
    QToolTip::hideText();
}

void FlameView::leaveEvent(QEvent*) { setCurrent(std::nullopt); }

// Up to the caller, down to the heaviest callee, left and right to its neighbours; Return zooms, Escape takes it back.
void FlameView::keyPressEvent(QKeyEvent* event) {
  if (!tree_) return QWidget::keyPressEvent(event);
  const auto& nodes = tree_->nodes();
  const std::size_t at = current_.value_or(zoomed_);
  std::optional<std::size_t> caller;
  for (std::size_t i = 0; i < at; ++i)
    if (nodes[i].end > at) caller = i;
  const auto callees = [&](std::size_t of) {
    std::vector<std::size_t> all;
    for (std::size_t i = of + 1; i < nodes[of].end; i = nodes[i].end)
      if (isShown(i)) all.push_back(i);
    return all;
  };
  switch (event->key()) {
    case Qt::Key_Up:
      return setCurrent(caller.value_or(0));
    case Qt::Key_Down: {
      const auto inside = callees(at);
      if (inside.empty()) return;
      return setCurrent(*std::ranges::max_element(inside, {}, [&](std::size_t i) { return nodes[i].weight; }));
    }
    case Qt::Key_Left:
    case Qt::Key_Right: {
      if (!caller || at == zoomed_) return;
      const auto beside = callees(*caller);
      const auto me = std::ranges::find(beside, at);
      if (me == beside.end()) return;
      if (event->key() == Qt::Key_Left && me != beside.begin()) setCurrent(*std::prev(me));
      if (event->key() == Qt::Key_Right && std::next(me) != beside.end()) setCurrent(*std::next(me));
      return;
    }
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return zoomTo(at);
    case Qt::Key_Escape:
      return zoomTo(0);
    default:
      return QWidget::keyPressEvent(event);
  }
}

}  // namespace kevt::gui
