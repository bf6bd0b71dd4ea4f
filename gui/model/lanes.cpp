// Which lanes a trace has.
//
// Tasks are sorted by their number of records, which the store has counted: nothing here looks at records.
#include "gui/model/lanes.h"

#include <QObject>
#include <algorithm>

#include "gui/model/row_text.h"
#include "gui/model/sched_spans.h"

namespace kevt::gui {
namespace {

constexpr int kDensityHeight = 24;
constexpr int kSliceHeight = 17;
constexpr int kFieldHeight = 46;
constexpr int kHeatHeight = 74;
constexpr int kGroupHeight = 22;
constexpr int kSchedHeight = 7;  // below a task's slices
constexpr int kBusyHeight = 9;   // below an event's records

QString records(std::uint64_t count) { return compactNumber(static_cast<double>(count)); }

QString event_name(const record::EventFormat& event) { return QString::fromStdString(event.system + "/" + event.name); }

class Maker {
 public:
  Maker(const record::StoreView& view, const LanePrefs& wishes, const std::shared_ptr<const record::RowSubset>& kept)
      : view_(view), wishes_(wishes), kept_(kept) {}

  std::vector<Lane> make() {
    std::vector<Lane> pinned;
    std::vector<Lane> groups[] = {cpus(), tasks(), events(), fields(), durations(), found()};
    for (std::vector<Lane>& group : groups) {
      arrange(group);
      for (Lane& lane : group) restrict(lane);
      std::erase_if(group, [&](const Lane& lane) {
        const bool is_pinned = std::ranges::find(wishes_.pinned, lane.name(view_.names())) != wishes_.pinned.end();
        if (is_pinned) pinned.push_back(lane);
        return is_pinned || isEmptied(lane);
      });
    }
    arrange(pinned);
    add_group(Lane::Kind::Pinned, QObject::tr("Pinned"), std::move(pinned));
    add_group(Lane::Kind::Found, QObject::tr("Found"), std::move(groups[5]));
    add_group(Lane::Kind::Cpu, QObject::tr("CPUs"), std::move(groups[0]));
    add_group(Lane::Kind::Task, QObject::tr("Tasks"), std::move(groups[1]));
    add_group(Lane::Kind::Event, QObject::tr("Events"), std::move(groups[2]));
    add_group(Lane::Kind::Field, QObject::tr("Fields"), std::move(groups[3]));
    add_group(Lane::Kind::Latency, QObject::tr("Durations"), std::move(groups[4]));
    return std::move(lanes_);
  }

 private:
  void restrict(Lane& lane) const {
    if (!kept_ || lane.only) return;
    lane.only = kept_;
    lane.is_filtered = true;
  }

  std::uint64_t count(record::Axis axis, std::uint32_t id) const {
    return kept_ ? kept_->of(axis, id) : view_.totals().of(axis, id);
  }

  bool isEmptied(const Lane& lane) const {
    const bool is_of_some = lane.kind == Lane::Kind::Task || lane.kind == Lane::Kind::Event;
    return kept_ && is_of_some && count(*lane.key().axis, lane.id) == 0;
  }

  void arrange(std::vector<Lane>& lanes) const {
    if (wishes_.order.empty()) return;
    std::ranges::stable_sort(lanes, {}, [&](const Lane& lane) {
      return std::ranges::find(wishes_.order, lane.name(view_.names())) - wishes_.order.begin();
    });
  }

  void add_group(Lane::Kind kind, const QString& title, std::vector<Lane> lanes) {
    if (lanes.empty()) return;
    lanes_.push_back({.kind = Lane::Kind::Group,
                      .id = static_cast<std::uint32_t>(kind),
                      .title = title,
                      .note = QString::number(lanes.size()),
                      .height = kGroupHeight});
    if (std::ranges::find(wishes_.collapsed, kind) != wishes_.collapsed.end()) return;
    for (Lane& lane : lanes)
      if (std::ranges::find(wishes_.hidden, lane.name(view_.names())) == wishes_.hidden.end())
        lanes_.push_back(std::move(lane));
  }

  std::vector<Lane> cpus() {
    std::vector<Lane> lanes;
    const auto& cpus = view_.names().cpus;
    for (const std::uint32_t cpu : cpus)
      lanes.push_back({.kind = Lane::Kind::Cpu,
                       .id = cpu,
                       .title = QObject::tr("CPU %1").arg(cpu),
                       .note = records(count(record::Axis::Cpu, cpu)),
                       .height = kDensityHeight});
    return lanes;
  }

  std::vector<Lane> tasks() {
    std::vector<Lane> lanes;
    const auto& tasks = view_.names().tasks;
    std::vector<std::uint64_t> counts(tasks.size());
    for (std::uint32_t i = 0; i < counts.size(); ++i) counts[i] = count(record::Axis::Task, i);
    std::vector<std::uint32_t> order(tasks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return counts[i]; });
    const auto& levels_of = view_.totals().levels;
    const int below = hasSchedEvents(view_.names()) ? kSchedHeight : 0;
    for (const std::uint32_t i : order) {
      const std::uint32_t levels = i < levels_of.size() ? levels_of[i] : 0;
      lanes.push_back({.kind = Lane::Kind::Task,
                       .id = i,
                       .title = QString::fromStdString(tasks[i].title()),
                       .note = records(counts[i]),
                       .height = levels ? 14 + static_cast<int>(std::min(levels, 8u)) * kSliceHeight + below
                                        : kDensityHeight + below,
                       .levels = levels});
    }
    return lanes;
  }

  std::vector<Lane> events() {
    std::vector<Lane> lanes;
    const auto& events = view_.names().events;
    const auto& begin_slices = view_.totals().begins_slices;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool has_slices = i < begin_slices.size() && begin_slices[i] != 0;
      lanes.push_back({.kind = Lane::Kind::Event,
                       .id = i,
                       .title = QString::fromStdString(events[i]->name),
                       .note = records(count(record::Axis::Event, i)),
                       .height = kDensityHeight + (has_slices ? kBusyHeight : 0),
                       .levels = has_slices ? 1u : 0u});
    }
    return lanes;
  }

  std::vector<Lane> fields() {
    std::vector<Lane> lanes;
    const auto& events = view_.names().events;
    for (const auto& [event, field] : wishes_.fields)
      for (std::uint32_t i = 0; i < events.size(); ++i)
        if (event_name(*events[i]) == event || QString::fromStdString(events[i]->name) == event)
          lanes.push_back({.kind = Lane::Kind::Field,
                           .id = i,
                           .title = QString::fromStdString(events[i]->name) + QLatin1Char('.') + field,
                           .field = field,
                           .height = kFieldHeight});
    return lanes;
  }

  std::vector<Lane> durations() {
    std::vector<Lane> lanes;
    const auto& events = view_.names().events;
    const auto add = [&](const QString& wish, Lane::Kind kind, int height) {
      for (std::uint32_t i = 0; i < events.size(); ++i)
        if (event_name(*events[i]) == wish)
          lanes.push_back({.kind = kind,
                           .id = i,
                           .title = QString::fromStdString(events[i]->name),
                           .note = kind == Lane::Kind::Heat ? QObject::tr("heat map") : QObject::tr("duration"),
                           .height = height});
    };
    for (const QString& wish : wishes_.latencies) add(wish, Lane::Kind::Latency, kFieldHeight);
    for (const QString& wish : wishes_.heats) add(wish, Lane::Kind::Heat, kHeatHeight);
    return lanes;
  }

  std::vector<Lane> found() {
    std::vector<Lane> lanes;
    for (const FoundRows& one : wishes_.found)
      lanes.push_back({.kind = Lane::Kind::Found,
                       .id = one.number,
                       .title = one.text,
                       .note = records(one.rows->size()),
                       .field = one.text,
                       .height = kDensityHeight,
                       .only = one.rows});
    return lanes;
  }

  const record::StoreView& view_;
  const LanePrefs& wishes_;
  const std::shared_ptr<const record::RowSubset>& kept_;
  std::vector<Lane> lanes_;
};

}  // namespace

record::LaneKey Lane::key() const {
  switch (kind) {
    case Kind::Cpu:
      return {record::Axis::Cpu, id, only.get()};
    case Kind::Task:
      return {record::Axis::Task, id, only.get()};
    case Kind::Event:
    case Kind::Field:
    case Kind::Latency:
    case Kind::Heat:
      return {record::Axis::Event, id, only.get()};
    case Kind::Group:
    case Kind::Pinned:
    case Kind::Found:
      break;
  }
  return {.only = only.get()};
}

QString Lane::name(const record::StoreNames& names) const {
  switch (kind) {
    case Kind::Cpu:
      return QStringLiteral("cpu:%1").arg(id);
    case Kind::Task:
      return QStringLiteral("task:%1%2")
          .arg(names.tasks[id].instance ? QString::fromStdString(names.tasks[id].instance_name) + QLatin1Char(':')
                                        : QString())
          .arg(names.tasks[id].pid);
    case Kind::Event:
      return QStringLiteral("event:") + event_name(*names.events[id]);
    case Kind::Field:
      return QStringLiteral("field:") + event_name(*names.events[id]) + QLatin1Char(':') + field;
    case Kind::Latency:
      return QStringLiteral("latency:") + event_name(*names.events[id]);
    case Kind::Heat:
      return QStringLiteral("heat:") + event_name(*names.events[id]);
    case Kind::Found:
      return QStringLiteral("found:%1:").arg(id) + field;
    case Kind::Group:
    case Kind::Pinned:
      break;
  }
  return QStringLiteral("group:%1").arg(id);
}

std::vector<Lane> lanesOf(const record::StoreView& view, const LanePrefs& wishes,
                          const std::shared_ptr<const record::RowSubset>& kept) {
  return Maker(view, wishes, kept).make();
}

record::FieldPyramid::Only plottedRows(const Lane& lane) {
  if (!lane.is_filtered) return {};
  return [kept = lane.only](record::Row row, record::Row end) {
    return end == record::kNoRow ? kept->contains(row) : kept->keeps_slice(row, end);
  };
}

}  // namespace kevt::gui
