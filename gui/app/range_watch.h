// RangeWatch: when a panel that shows what lies in the selected range has to look again, and which range that is.
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tracefs-compat/record/store/row_subset.h"

class QTimer;
class QWidget;

namespace kevt::gui {

class TimelineView;
class TraceDocument;

class RangeWatch : public QObject {
  Q_OBJECT

 public:
  // `isBusy`: the panel is still working on the last due(); a live trace waits for it then. All outlive this object.
  RangeWatch(TraceDocument& document, TimelineView& timeline, QWidget& panel, std::function<bool()> isBusy);

  enum class Extent : std::uint8_t { Whole, Range, InSight };
  struct Wanted {
    Extent extent = Extent::Whole;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range;  // first and last nanosecond; nullopt: everything
  };
  // A live trace goes on: what is in sight is looked at, not all there ever was; the last 500,000 records at most.
  Wanted wanted() const;

  // The records that the filter leaves; nullptr: all.
  const std::shared_ptr<const record::RowSubset>& kept() const { return kept_; }
  void setKept(std::shared_ptr<const record::RowSubset> kept);

  // due() follows soon.
  void lookAgain();
  bool isWaiting() const;

  bool eventFilter(QObject* watched, QEvent* event) override;

 Q_SIGNALS:
  void due();

 private:
  TraceDocument& document_;
  TimelineView& timeline_;
  std::shared_ptr<const record::RowSubset> kept_;
  QTimer* delay_;
  QTimer* live_;            // until a live trace is looked at again
  bool is_behind_ = false;  // a live trace went on while the panel was hidden
};

}  // namespace kevt::gui
