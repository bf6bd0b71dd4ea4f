#include "gui/view/fleet_strip.h"

#include <QDateTime>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"
#include "gui/view/theme.h"

namespace kevt::gui {

namespace {

constexpr int kTextHeight = 18;
constexpr double kShortestDrag = 4;  // pixels; less is a click
constexpr std::int64_t kShortestSight = fleet::kShortestBarNs;

QString momentText(std::int64_t ns) {
  return QDateTime::fromMSecsSinceEpoch(ns / 1'000'000).toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz"));
}

std::int64_t lengthOf(const fleet::TimeSpan& span) { return span.to_ns - span.from_ns; }

}  // namespace

FleetStrip::FleetStrip(FleetSource& source, QWidget* parent) : QWidget(parent), source_(source) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Records of the database over time"));
  connect(&source_, &FleetSource::pictureChanged, this, &FleetStrip::takePicture);
}

void FleetStrip::takePicture() {
  if (!source_.isOpen()) {
    sight_ = {};
    refusal_.clear();
    shown_.reset();
    shown_records_ = 0;
  } else if (lengthOf(sight_) == 0) {
    sight_ = source_.all();
  }
  setAccessibleDescription(textBelow());
  update();
}

void FleetStrip::setShown(const std::optional<fleet::TimeSpan>& part, const record::StoreView& view) {
  number_of_.clear();
  const auto& events = view.names().events;
  for (std::uint32_t i = 0; i < events.size(); ++i)
    number_of_.insert(fromUtf8(events[i]->system + '/' + events[i]->name), i);
  const std::uint64_t records = view.rows();
  shown_ = part;
  shown_records_ = records;
  setAccessibleDescription(textBelow());
  update();
}

QRect FleetStrip::bars() const { return rect().adjusted(0, 2, 0, -kTextHeight); }

double FleetStrip::xOf(std::int64_t ns) const {
  if (lengthOf(sight_) == 0) return 0;
  return static_cast<double>(ns - sight_.from_ns) / static_cast<double>(lengthOf(sight_)) * width();
}

std::int64_t FleetStrip::timeAt(double x) const {
  const double part = std::clamp(x / std::max(1, width()), 0.0, 1.0);
  return sight_.from_ns + static_cast<std::int64_t>(part * static_cast<double>(lengthOf(sight_)));
}

// Of whole bars, all that have a moment in common with the part.
std::uint64_t FleetStrip::recordsIn(const fleet::TimeSpan& part) const {
  const fleet::OverviewPicture& picture = source_.picture();
  std::uint64_t sum = 0;
  for (const fleet::OverviewLine& line : picture.lines)
    for (std::size_t bar = 0; bar < line.hits.size(); ++bar) {
      const std::int64_t from = picture.span.from_ns + static_cast<std::int64_t>(bar) * picture.width_ns;
      if (from < part.to_ns && from + picture.width_ns > part.from_ns) sum += line.hits[bar];
    }
  return sum;
}

QString FleetStrip::textBelow() const {
  if (!source_.trouble().isEmpty()) return source_.trouble();
  if (!refusal_.isEmpty()) return refusal_;
  if (lengthOf(source_.all()) == 0) return source_.isBusy() ? tr("the server is asked …") : tr("no records");
  const QString here = tr("%1 records in sight").arg(grouped(recordsIn(sight_)));
  if (!shown_) return tr("%1, all are shown").arg(here);
  return tr("%1; %2 are shown, of the marked part; drag for another").arg(here, grouped(shown_records_));
}

// ---- moving ---------------------------------------------------------------------------------

void FleetStrip::look(fleet::TimeSpan sight) {
  const fleet::TimeSpan& all = source_.all();
  const std::int64_t longest = std::max(lengthOf(all), kShortestSight);
  const std::int64_t length = std::clamp(lengthOf(sight), kShortestSight, longest);
  sight.from_ns = std::clamp(sight.from_ns, all.from_ns, std::max(all.from_ns, all.to_ns - length));
  sight.to_ns = sight.from_ns + length;
  refusal_.clear();
  if (sight != sight_) {
    sight_ = sight;
    source_.ask(sight_, static_cast<std::size_t>(std::max(width() / 2, 16)));
  }
  setAccessibleDescription(textBelow());
  update();
}

void FleetStrip::zoom(double factor, double x) {
  const std::int64_t fixed = timeAt(x);
  factor = std::clamp(factor, 1e-6, 1e6);
  const auto scaled = [&](std::int64_t ns) {
    constexpr double kLongest = 1.9e18;  // ns; beside any moment until 2200 it fits
    return fixed + static_cast<std::int64_t>(std::clamp(static_cast<double>(ns - fixed) * factor, -kLongest, kLongest));
  };
  look({scaled(sight_.from_ns), scaled(sight_.to_ns)});
}

void FleetStrip::move(double pixels) {
  const auto by = static_cast<std::int64_t>(pixels / std::max(1, width()) * static_cast<double>(lengthOf(sight_)));
  look({sight_.from_ns + by, sight_.to_ns + by});
}

void FleetStrip::showAll() { look(source_.all()); }

// What has come in sight is not counted before the answer is there.
void FleetStrip::choose(const fleet::TimeSpan& part) {
  if (source_.isBusy()) return;
  const std::uint64_t records = recordsIn(part);
  refusal_.clear();
  if (records > most_)
    refusal_ =
        tr("that part has %1 records, and %2 are loaded at most: zoom in with the wheel, and choose a shorter one")
            .arg(grouped(records), grouped(most_));
  setAccessibleDescription(textBelow());
  update();
  if (refusal_.isEmpty()) Q_EMIT partWanted(part);
}

void FleetStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (lengthOf(sight_) != 0) source_.ask(sight_, static_cast<std::size_t>(std::max(width() / 2, 16)));
}

void FleetStrip::wheelEvent(QWheelEvent* event) {
  const double steps = (event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x()) / 120.0;
  if (event->modifiers() & Qt::ShiftModifier || event->angleDelta().y() == 0)
    move(-steps * width() / 8);
  else
    zoom(std::pow(0.7, steps), event->position().x());
  event->accept();
}

void FleetStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || lengthOf(sight_) == 0) return;
  pressed_ = dragged_to_ = event->position().x();
}

void FleetStrip::mouseMoveEvent(QMouseEvent* event) {
  if (pressed_) {
    dragged_to_ = event->position().x();
    return update();
  }
  const QString tip = tipAt(event->position().x());
  if (tip.isEmpty()) return QToolTip::hideText();
  QToolTip::showText(event->globalPosition().toPoint(), plainTip(tip), this);
}

void FleetStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_ || event->button() != Qt::LeftButton) return;
  const auto [from, to] = std::minmax(*pressed_, event->position().x());
  pressed_.reset();
  update();
  if (to - from >= kShortestDrag) choose({timeAt(from), timeAt(to)});
}

void FleetStrip::mouseDoubleClickEvent(QMouseEvent* /*event*/) { showAll(); }

void FleetStrip::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return move(-width() / 8.0);
    case Qt::Key_Right:
      return move(width() / 8.0);
    case Qt::Key_Plus:
    case Qt::Key_Up:
      return zoom(0.7, width() / 2.0);
    case Qt::Key_Minus:
    case Qt::Key_Down:
      return zoom(1 / 0.7, width() / 2.0);
    case Qt::Key_Home:
      return showAll();
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return choose(sight_);
    default:
      QWidget::keyPressEvent(event);
  }
}

// ---- painting -------------------------------------------------------------------------------

QString FleetStrip::tipAt(double x) const {
  const fleet::OverviewPicture& picture = source_.picture();
  if (picture.lines.empty() || lengthOf(sight_) == 0) return {};
  const std::int64_t at = timeAt(x);
  if (at < picture.span.from_ns || at >= picture.span.to_ns) return {};
  const auto bar = static_cast<std::size_t>((at - picture.span.from_ns) / picture.width_ns);
  QString text = tr("%1, %2 long")
                     .arg(momentText(picture.span.from_ns + static_cast<std::int64_t>(bar) * picture.width_ns),
                          duration(static_cast<double>(picture.width_ns)));
  constexpr int kMostNamed = 12;
  int named = 0;
  for (const fleet::OverviewLine& line : picture.lines)
    if (line.hits[bar] != 0 && named++ < kMostNamed)
      text += QStringLiteral("\n%1: %2").arg(fromUtf8(line.name), grouped(line.hits[bar]));
  return named > kMostNamed ? text + tr("\nand %1 other events").arg(named - kMostNamed) : text;
}

// A bar is as high as the square root of its records, so that a few stand out beside very many, and parted by its
// events.
void FleetStrip::paintBars(QPainter& painter, const QRect& room) const {
  const LaneColors colors(palette());
  const fleet::OverviewPicture& picture = source_.picture();
  constexpr double kLowest = 2;  // pixels
  std::vector<std::uint64_t> sums;
  for (const fleet::OverviewLine& line : picture.lines) {
    sums.resize(std::max(sums.size(), line.hits.size()));
    for (std::size_t bar = 0; bar < line.hits.size(); ++bar) sums[bar] += line.hits[bar];
  }
  const double most =
      sums.empty() ? 1 : std::sqrt(std::max<double>(1, static_cast<double>(*std::ranges::max_element(sums))));
  std::vector<double> tops(sums.size(), room.bottom() + 1);
  for (std::size_t i = 0; i < picture.lines.size(); ++i) {
    const auto number = number_of_.find(fromUtf8(picture.lines[i].name));
    const QColor color = colors.event(number == number_of_.end() ? static_cast<std::uint32_t>(i) : *number);
    for (std::size_t bar = 0; bar < picture.lines[i].hits.size(); ++bar) {
      const auto hits = static_cast<double>(picture.lines[i].hits[bar]);
      if (hits == 0) continue;
      const auto all = static_cast<double>(sums[bar]);
      const double high = std::max(room.height() * std::sqrt(all) / most, kLowest) * hits / all;
      const std::int64_t from = picture.span.from_ns + static_cast<std::int64_t>(bar) * picture.width_ns;
      const double left = xOf(from), right = std::max(xOf(from + picture.width_ns), left + 1);
      tops[bar] -= high;
      painter.fillRect(QRectF(left, tops[bar], right - left, high), color);
    }
  }
}

void FleetStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const LaneColors colors(palette());
  const QRect room = bars();
  painter.fillRect(rect(), colors.background);
  const auto mark = [&](double from, double to) {
    QColor shade = colors.selection;
    shade.setAlpha(90);
    painter.fillRect(QRectF(from, room.top(), std::max(to - from, 1.0), room.height()), shade);
    painter.setPen(colors.accent);
    for (const double x : {from, to}) painter.drawLine(QPointF(x, room.top()), QPointF(x, room.bottom()));
  };
  if (shown_) mark(xOf(shown_->from_ns), xOf(shown_->to_ns));
  paintBars(painter, room);
  if (pressed_) mark(std::min(*pressed_, dragged_to_), std::max(*pressed_, dragged_to_));
  const QRect below = rect().adjusted(6, height() - kTextHeight, -6, 0);
  painter.setPen(colors.faint);
  if (lengthOf(sight_) != 0) {
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, momentText(sight_.from_ns));
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, momentText(sight_.to_ns));
  }
  painter.setPen(colors.text);
  const int beside = lengthOf(sight_) != 0 ? fontMetrics().horizontalAdvance(momentText(0)) + 12 : 0;
  const QRect middle = below.adjusted(beside, 0, -beside, 0);
  painter.drawText(middle, Qt::AlignCenter, fontMetrics().elidedText(textBelow(), Qt::ElideRight, middle.width()));
  painter.setPen(hasFocus() ? colors.accent : colors.line);
  painter.drawLine(rect().bottomLeft(), rect().bottomRight());
}

}  // namespace kevt::gui
