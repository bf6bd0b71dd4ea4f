// The timeline for assistive programs.
//
//   Timeline (list)  >  "python3-4711, 8.2 k records, 37 in sight" (list item)  >  "… opening: (open+0x0/…) path=…"
//
// Problem: lanes and records are not widgets or items. Idea: interfaces are made on demand and hold only a number; a
// lane lists only the first visible records, since nobody would listen to more.
#include "gui/view/timeline_accessible.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <map>
#include <memory>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

constexpr int kMostRecords = 100;

class TimelineAccessible;

// Stands for lane `lane`, or for visible record number `record` of it.
class PartAccessible : public QAccessibleInterface {
 public:
  PartAccessible(TimelineAccessible& timeline, int lane, int record)
      : timeline_(timeline), lane_(lane), record_(record) {}

  bool isValid() const override;
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* parent() const override;
  QAccessibleInterface* child(int index) const override;
  int childCount() const override;
  int indexOfChild(const QAccessibleInterface* child) const override;
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  QString text(QAccessible::Text kind) const override;
  void setText(QAccessible::Text, const QString&) override {}
  QRect rect() const override;
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  QAccessible::State state() const override;

 private:
  const TimelineView& view() const;
  std::vector<record::Row> rows() const;

  TimelineAccessible& timeline_;
  int lane_, record_;
};

class TimelineAccessible : public QAccessibleWidget {
 public:
  explicit TimelineAccessible(TimelineView* view) : QAccessibleWidget(view, QAccessible::List) {}
  ~TimelineAccessible() override {
    for (const auto& [part, id] : parts_) QAccessible::deleteAccessibleInterface(id);
  }

  TimelineView& view() const { return *static_cast<TimelineView*>(widget()); }
  int childCount() const override { return static_cast<int>(view().lanes().size()); }
  QAccessibleInterface* child(int index) const override {
    return index < 0 || index >= childCount() ? nullptr : const_cast<TimelineAccessible*>(this)->part(index, -1);
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    for (int i = 0; i < childCount(); ++i)
      if (this->child(i) == child) return i;
    return -1;
  }
  QAccessibleInterface* part(int lane, int record) {
    const auto found = parts_.find({lane, record});
    if (found != parts_.end()) return QAccessible::accessibleInterface(found->second);
    auto* made = new PartAccessible(*this, lane, record);
    parts_[{lane, record}] = QAccessible::registerAccessibleInterface(made);
    return made;
  }

 private:
  std::map<std::pair<int, int>, QAccessible::Id> parts_;
};

const TimelineView& PartAccessible::view() const { return timeline_.view(); }

bool PartAccessible::isValid() const {
  return timeline_.isValid() && static_cast<std::size_t>(lane_) < view().lanes().size();
}

std::vector<record::Row> PartAccessible::rows() const {
  std::vector<record::Row> out;
  if (!isValid() || view().view().empty()) return out;
  const Lane& lane = view().lanes()[static_cast<std::size_t>(lane_)];
  if (lane.kind == Lane::Kind::Group) return out;
  const record::PixelRow window{view().view().first_ns(), view().window().from_ns, view().window().ns_per_pixel, 1};
  record::visit_lane(view().view(), lane.key(), window.border(0),
                     window.border(view().laneRect(static_cast<std::size_t>(lane_)).width()),
                     [&](record::Row row, std::uint64_t) {
                       out.push_back(row);
                       return out.size() < kMostRecords;
                     });
  return out;
}

QAccessibleInterface* PartAccessible::parent() const {
  return record_ < 0 ? static_cast<QAccessibleInterface*>(&timeline_) : timeline_.part(lane_, -1);
}
QAccessibleInterface* PartAccessible::child(int index) const {
  return index < 0 || index >= childCount() ? nullptr : timeline_.part(lane_, index);
}
int PartAccessible::childCount() const { return record_ < 0 ? static_cast<int>(rows().size()) : 0; }
int PartAccessible::indexOfChild(const QAccessibleInterface* child) const {
  for (int i = 0; i < childCount(); ++i)
    if (this->child(i) == child) return i;
  return -1;
}

QString PartAccessible::text(QAccessible::Text kind) const {
  if (kind != QAccessible::Name || !isValid()) return {};
  const std::vector<record::Row> in_sight = rows();
  if (record_ < 0) {
    const Lane& lane = view().lanes()[static_cast<std::size_t>(lane_)];
    if (lane.kind == Lane::Kind::Group) return QObject::tr("group %1, %2 lanes").arg(lane.title, lane.note);
    return QObject::tr("%1, %2 records, %3 in sight")
        .arg(lane.title, lane.note)
        .arg(in_sight.size() >= kMostRecords ? QObject::tr("%1 or more").arg(kMostRecords)
                                             : QString::number(in_sight.size()));
  }
  if (static_cast<std::size_t>(record_) >= in_sight.size()) return {};
  return view().lineOf(in_sight[static_cast<std::size_t>(record_)]).trimmed();
}

QRect PartAccessible::rect() const {
  if (!isValid()) return {};
  QRect rect = view().laneRect(static_cast<std::size_t>(lane_));
  const std::vector<record::Row> in_sight = rows();
  if (record_ >= 0 && static_cast<std::size_t>(record_) < in_sight.size()) {
    const double x = view().xOf(view().view().time_ns(in_sight[static_cast<std::size_t>(record_)]));
    rect = QRect(static_cast<int>(x), rect.top(), 1, rect.height());
  }
  rect.moveTopLeft(view().viewport()->mapToGlobal(rect.topLeft()));
  return rect;
}

QAccessible::State PartAccessible::state() const {
  QAccessible::State state;
  state.selectable = true;
  state.readOnly = true;
  if (!isValid()) return state;
  const std::vector<record::Row> in_sight = rows();
  state.selected = record_ < 0 ? view().selectedLane() == static_cast<std::size_t>(lane_)
                               : static_cast<std::size_t>(record_) < in_sight.size() &&
                                     view().selectedRow() == in_sight[static_cast<std::size_t>(record_)];
  return state;
}

QAccessibleInterface* make(const QString&, QObject* object) {
  auto* view = qobject_cast<TimelineView*>(object);
  return view ? new TimelineAccessible(view) : nullptr;
}

}  // namespace

void installTimelineAccessibility() {
  static const bool is_done = [] {
    QAccessible::installFactory(make);
    return true;
  }();
  (void)is_done;
}

}  // namespace kevt::gui
