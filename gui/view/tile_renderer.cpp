// Painting tiles off the UI thread.
//
// paint() of the timeline only copies images. It names missing tiles in one list that replaces the last list, so a fast
// pan leaves no queue of tiles that nobody sees. When a trace grows, tiles that end before the first new record (and
// before the begin of slices that ended now) stay; the others are shown until new ones are painted.
#include "gui/view/tile_renderer.h"

#include <algorithm>

#include "gui/model/job.h"

namespace kevt::gui {

TileRenderer::TileRenderer(QObject* parent) : QObject(parent) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this] {
      yieldToTheWindow();
      work();
    });
}

TileRenderer::~TileRenderer() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  ready_.notify_all();
  threads_.clear();
}

void TileRenderer::reset(const record::StoreView& view, const Look& look) {
  tiles_.clear();
  const std::lock_guard lock(mutex_);
  ++generation_;
  view_ = view;
  look_ = look;
  wishes_.clear();
  done_.clear();
}

void TileRenderer::grow(const record::StoreView& view) {
  std::uint64_t fresh_ns = view.empty() ? 0 : view.last_ns();
  record::Row fresh = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!view_.empty()) fresh_ns = std::min(fresh_ns, view_.last_ns());
    fresh = view_.rows();
    ++generation_;
    view_ = view;
    wishes_.clear();
    done_.clear();
  }
  markStale(view, fresh, fresh_ns);
}

void TileRenderer::refreshFrom(record::Row row) {
  record::StoreView view;
  {
    const std::lock_guard lock(mutex_);
    view = view_;
    ++generation_;
    wishes_.clear();
    done_.clear();
  }
  markStale(view, row, row < view.rows() ? view.time_ns(row) : view.last_ns());
}

// Marks tiles stale that show records from `fresh` on, or slices that end there.
void TileRenderer::markStale(const record::StoreView& view, record::Row fresh, std::uint64_t fresh_ns) {
  for (auto chunk = view.chunks().rbegin(); chunk != view.chunks().rend(); ++chunk) {
    if ((*chunk)->first_row + (*chunk)->rows() <= fresh) break;
    for (const auto& group : (*chunk)->slice_groups) fresh_ns = std::min(fresh_ns, group.first_start_ns);
  }
  const double begin = view.empty() ? 0 : static_cast<double>(fresh_ns - std::min(fresh_ns, view.first_ns()));
  // The scale of a plot may have changed.
  for (auto& [key, entry] : tiles_)
    if (Lane{.kind = static_cast<Lane::Kind>(key.kind)}.isPlot() ||
        static_cast<double>(key.index + 1) * kTilePixels * key.ns_per_pixel >= begin)
      entry.is_stale = true;
}

void TileRenderer::refresh(Lane::Kind kind) {
  for (auto& [key, entry] : tiles_)
    if (key.kind == static_cast<int>(kind)) entry.is_stale = true;
}

const Tile* TileRenderer::find(const TileKey& key) {
  const auto found = tiles_.find(key);
  if (found == tiles_.end()) return nullptr;
  found->second.used = ++clock_;
  return &found->second.tile;
}

void TileRenderer::want(std::vector<Wish> wishes) {
  std::erase_if(wishes, [&](const Wish& wish) {
    const auto found = tiles_.find(wish.key);
    return found != tiles_.end() && !found->second.is_stale;
  });
  std::ranges::reverse(wishes);
  {
    const std::lock_guard lock(mutex_);
    wishes_ = std::move(wishes);
    if (wishes_.empty()) return;
  }
  ready_.notify_all();
}

bool TileRenderer::isIdle() {
  const std::lock_guard lock(mutex_);
  return wishes_.empty() && working_ == 0 && done_.empty();
}

void TileRenderer::waitUntilIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return wishes_.empty() && working_ == 0; });
}

void TileRenderer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [&] { return stops_ || !wishes_.empty(); });
    if (stops_) return;
    const Wish wish = std::move(wishes_.back());
    wishes_.pop_back();
    const quint64 generation = generation_;
    const Look look = look_;
    const double wide = kTilePixels * wish.key.ns_per_pixel;
    TileJob job{.view = view_,
                .lane = wish.lane,
                .pixels = {.origin_ns = view_.first_ns(),
                           .from_ns = static_cast<double>(wish.key.index) * wide,
                           .ns_per_pixel = wish.key.ns_per_pixel / look.device_ratio,
                           .pixels = static_cast<std::uint32_t>(kTilePixels * look.device_ratio + 0.5)},
                .device_ratio = look.device_ratio,
                .field = wish.field,
                .sched = wish.sched,
                .colouring = look.colouring};
    ++working_;
    lock.unlock();
    Tile tile = paintTile(job, look.colors);
    lock.lock();
    --working_;
    if (generation == generation_) done_.emplace_back(generation, wish.key, std::move(tile));
    if (wishes_.empty() && working_ == 0) idle_.notify_all();
    if (announced_) continue;
    announced_ = true;
    QMetaObject::invokeMethod(
        this,
        [this] {
          std::vector<std::tuple<quint64, TileKey, Tile>> done;
          quint64 now = 0;
          {
            const std::lock_guard guard(mutex_);
            done = std::move(done_);
            done_.clear();
            announced_ = false;
            now = generation_;
          }
          for (auto& [made_in, key, made] : done)
            if (made_in == now) store(made_in, key, std::move(made));
          evict();
          Q_EMIT tilesReady();
        },
        Qt::QueuedConnection);
  }
}

void TileRenderer::store(quint64, const TileKey& key, Tile tile) {
  ++painted_;
  tiles_[key] = {std::move(tile), ++clock_, false};
}

void TileRenderer::evict() {
  if (tiles_.size() <= kMaxTiles) return;
  std::vector<quint64> uses;
  for (const auto& [key, entry] : tiles_) uses.push_back(entry.used);
  std::ranges::nth_element(uses, uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2));
  const quint64 middle = uses[uses.size() / 2];
  std::erase_if(tiles_, [&](const auto& one) { return one.second.used < middle; });
}

}  // namespace kevt::gui
