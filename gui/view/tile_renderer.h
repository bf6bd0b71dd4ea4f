// TileRenderer: paints tiles of lanes in threads, and keeps the tiles while there is room.
//
// The UI thread says which tiles it wants now; tiles that are no longer wanted are not painted.
#pragma once

#include <QObject>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gui/view/lane_painter.h"

namespace kevt::gui {

struct TileKey {
  int kind = 0;
  std::uint32_t id = 0;
  QString field;
  std::uint32_t levels = 0;
  double ns_per_pixel = 1;  // logical
  qint64 index = 0;         // shows [index, index + 1) * kTilePixels * ns_per_pixel, from the first record
  auto operator<=>(const TileKey& other) const {
    return std::tie(ns_per_pixel, kind, id, levels, index, field) <=>
           std::tie(other.ns_per_pixel, other.kind, other.id, other.levels, other.index, other.field);
  }
  bool operator==(const TileKey& other) const = default;
};

class TileRenderer : public QObject {
  Q_OBJECT

 public:
  explicit TileRenderer(QObject* parent = nullptr);
  ~TileRenderer() override;

  struct Look {
    double device_ratio = 1;
    LaneColors colors;
    Colouring colouring = {};
  };
  // Another trace, or another look: drops all tiles.
  void reset(const record::StoreView& view, const Look& look);
  // The same trace with more records: tiles before the first new record stay.
  void grow(const record::StoreView& view);
  // Lanes of this kind have new contents: their tiles are painted again.
  void refresh(Lane::Kind kind);
  // Tiles of all lanes from this row on are painted again, since the filter has now seen these rows.
  void refreshFrom(record::Row row);

  // nullptr: not painted yet. Valid until the next call of any function.
  const Tile* find(const TileKey& key);
  struct Wish {
    TileKey key;
    Lane lane;
    std::shared_ptr<const record::FieldPyramid> field;
    std::shared_ptr<const SchedSpans> sched;
  };
  // Replaces the list of wanted tiles; the first ones are painted first.
  void want(std::vector<Wish> wishes);
  bool isIdle();
  // Waits until all wanted tiles are painted; for screenshots and tests.
  void waitUntilIdle();
  std::size_t painted() const { return painted_; }

 Q_SIGNALS:
  void tilesReady();

 private:
  struct Entry {
    Tile tile;
    quint64 used = 0;
    bool is_stale = false;  // shown until the new one is painted
  };
  void work();
  void store(quint64 generation, const TileKey& key, Tile tile);
  void evict();
  void markStale(const record::StoreView& view, record::Row fresh, std::uint64_t fresh_ns);

  static constexpr std::size_t kMaxTiles = 1200;
  std::map<TileKey, Entry> tiles_;  // UI thread
  quint64 clock_ = 0;
  std::size_t painted_ = 0;

  std::mutex mutex_;  // below
  std::condition_variable ready_, idle_;
  std::vector<Wish> wishes_;  // last one first
  std::vector<std::tuple<quint64, TileKey, Tile>> done_;
  record::StoreView view_;
  Look look_{1, LaneColors(QPalette())};
  quint64 generation_ = 0;
  int working_ = 0;
  bool stops_ = false;
  bool announced_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace kevt::gui
