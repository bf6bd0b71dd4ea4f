// Counts run one at a time. While a trace grows, the first paint() after a count begins the next.
#include "gui/view/mini_map.h"

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/view/theme.h"
#include "tracefs-compat/record/store/store_query.h"

namespace kevt::gui {
namespace {

double span_of(const record::StoreView& view) { return static_cast<double>(view.last_ns() - view.first_ns()) + 1; }

}  // namespace

MiniMap::MiniMap(QObject* context, std::function<void()> changed) : changed_(std::move(changed)), jobs_(context, 1) {}

void MiniMap::reset() {
  if (counting_) *counting_ = true;
  counting_.reset();
  counted_ = {};
  image_ = {};
}

MiniMap::Counted MiniMap::count(const Wish& wish, const record::StoreView& view) {
  const auto width = static_cast<std::size_t>(wish.width);
  Counted counted{.wish = wish,
                  .span_ns = span_of(view),
                  .records = std::vector<std::uint32_t>(width),
                  .has_lost = std::vector<bool>(width)};
  const record::PixelRow row{view.first_ns(), 0, counted.span_ns / wish.width, static_cast<std::uint32_t>(wish.width)};
  record::count_by_pixel(view, {.only = wish.kept.get()}, row, counted.records);
  for (const record::StoreGap& gap : view.names().gaps) {
    const double pixel = std::clamp(std::floor(row.pixel_of(gap.from_ns)), 0.0, wish.width - 1.0);
    counted.has_lost[static_cast<std::size_t>(pixel)] = true;
  }
  return counted;
}

void MiniMap::paintImage(int height, const LaneColors& colors) {
  image_ = QImage(counted_.wish.width, height, QImage::Format_ARGB32_Premultiplied);
  image_.fill(Qt::transparent);
  QPainter painter(&image_);
  const double most = std::max(1u, *std::ranges::max_element(counted_.records));
  for (int x = 0; x < counted_.wish.width; ++x) {
    const std::uint32_t count = counted_.records[static_cast<std::size_t>(x)];
    if (count == 0) continue;
    const int high = std::max(1, static_cast<int>(std::lround((height - 6) * count / most)));
    painter.fillRect(x, height - 3 - high, 1, high, colors.density);
  }
  for (int x = 0; x < counted_.wish.width; ++x)
    if (counted_.has_lost[static_cast<std::size_t>(x)]) painter.fillRect(x, 1, 2, height - 3, colors.gap);
}

void MiniMap::paint(QPainter& painter, const QRect& rect, const record::StoreView& view,
                    const std::shared_ptr<const record::RowSubset>& kept, const LaneColors& colors) {
  if (view.empty() || rect.width() <= 0) return;
  const Wish wish{view.rows(), kept, rect.width()};
  if (!counting_ && counted_.wish != wish)
    counting_ = jobs_.start([wish, view](const std::atomic<bool>&) { return count(wish, view); },
                            [this](Counted counted) {
                              counting_.reset();
                              counted_ = std::move(counted);
                              image_ = {};
                              changed_();
                            });
  if (counted_.records.empty()) return;
  if (image_.height() != rect.height()) paintImage(rect.height(), colors);
  const double part = std::min(1.0, counted_.span_ns / span_of(view));
  painter.drawImage(QRectF(rect.left(), rect.top(), rect.width() * part, rect.height()), image_);
}

}  // namespace kevt::gui
