// MiniMap: how many records a whole trace has at what time, as bars, and where some are lost.
//
// Counting touches the records at the border of each pixel, which may lie in a file. So a worker counts. Until it is
// done, the last picture is drawn, over the part of the time that was counted.
#pragma once

#include <QImage>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gui/model/job.h"
#include "tracefs-compat/record/store/row_subset.h"
#include "tracefs-compat/record/store/store.h"

class QPainter;
class QRect;

namespace kevt::gui {

struct LaneColors;

class MiniMap {
 public:
  // `changed` is called in the thread of `context` when there is a new picture.
  MiniMap(QObject* context, std::function<void()> changed);
  // For another trace: nothing is shown until its records are counted.
  void reset();
  // The colours are others now.
  void repaint() { image_ = {}; }
  // Paints what is counted, and begins to count if that is not of these records: those of the view that are kept
  // (nullptr: all).
  void paint(QPainter& painter, const QRect& rect, const record::StoreView& view,
             const std::shared_ptr<const record::RowSubset>& kept, const LaneColors& colors);
  void waitForDone() { jobs_.waitForDone(); }

 private:
  struct Wish {
    record::Row rows = 0;
    std::shared_ptr<const record::RowSubset> kept;
    int width = 0;
    bool operator==(const Wish&) const = default;
  };
  struct Counted {
    Wish wish;
    double span_ns = 1;
    std::vector<std::uint32_t> records;  // of each pixel
    std::vector<bool> has_lost;
  };
  static Counted count(const Wish& wish, const record::StoreView& view);
  void paintImage(int height, const LaneColors& colors);

  std::function<void()> changed_;
  JobQueue jobs_;
  Cancelled counting_;
  Counted counted_;
  QImage image_;  // null: to be painted from what is counted
};

}  // namespace kevt::gui
