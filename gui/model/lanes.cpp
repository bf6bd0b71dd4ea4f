// Which lanes a trace has.
//
// Tasks come by how many records they have, counted over the chunks' directories: a thousand tasks cost as little as
// one.
#include "gui/model/lanes.h"

#include <QObject>
#include <algorithm>

#include "gui/model/row_text.h"

namespace kevt::gui {
namespace {

constexpr int kDensityHeight = 24;
constexpr int kSliceHeight = 17;
constexpr int kFieldHeight = 46;
constexpr int kGroupHeight = 22;

std::vector<std::uint64_t> counts_of(const record::StoreView& view, record::Axis axis, std::size_t lanes) {
  std::vector<std::uint64_t> counts(lanes);
  for (const auto& chunk : view.chunks())
    for (const auto& group : chunk->groups[static_cast<std::size_t>(axis)])
      if (group.id < lanes) counts[group.id] += group.end - group.begin;
  return counts;
}

QString records(std::uint64_t count) { return compactNumber(static_cast<double>(count)); }

QString event_name(const record::EventFormat& event) { return QString::fromStdString(event.system + "/" + event.name); }

class Maker {
 public:
  Maker(const record::StoreView& view, const LaneWishes& wishes) : view_(view), wishes_(wishes) {}

  std::vector<Lane> make() {
    std::vector<Lane> pinned;
    std::vector<Lane> groups[] = {cpus(), tasks(), events(), fields()};
    for (std::vector<Lane>& group : groups) {
      arrange(group);
      std::erase_if(group, [&](const Lane& lane) {
        const bool is_pinned = std::ranges::find(wishes_.pinned, lane.name(view_.names())) != wishes_.pinned.end();
        if (is_pinned) pinned.push_back(lane);
        return is_pinned;
      });
    }
    arrange(pinned);
    add_group(Lane::Kind::Pinned, QObject::tr("Pinned"), std::move(pinned));
    add_group(Lane::Kind::Cpu, QObject::tr("CPUs"), std::move(groups[0]));
    add_group(Lane::Kind::Task, QObject::tr("Tasks"), std::move(groups[1]));
    add_group(Lane::Kind::Event, QObject::tr("Events"), std::move(groups[2]));
    add_group(Lane::Kind::Field, QObject::tr("Fields"), std::move(groups[3]));
    return std::move(lanes_);
  }

 private:
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
    const auto counts = counts_of(view_, record::Axis::Cpu, cpus.empty() ? 0 : cpus.back() + 1);
    for (const std::uint32_t cpu : cpus)
      lanes.push_back({.kind = Lane::Kind::Cpu,
                       .id = cpu,
                       .title = QObject::tr("CPU %1").arg(cpu),
                       .note = records(counts[cpu]),
                       .height = kDensityHeight});
    return lanes;
  }

  std::vector<Lane> tasks() {
    std::vector<Lane> lanes;
    const auto& tasks = view_.names().tasks;
    const auto counts = counts_of(view_, record::Axis::Task, tasks.size());
    std::vector<std::uint32_t> order(tasks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return counts[i]; });
    std::vector<std::uint32_t> levels_of(tasks.size());
    for (const auto& chunk : view_.chunks())
      for (const auto& group : chunk->slice_groups)
        if (group.task < levels_of.size()) levels_of[group.task] = std::max(levels_of[group.task], group.deepest + 1u);
    for (const std::uint32_t i : order) {
      const std::uint32_t levels = levels_of[i];
      lanes.push_back({.kind = Lane::Kind::Task,
                       .id = i,
                       .title = QStringLiteral("%1-%2").arg(QString::fromStdString(tasks[i].comm)).arg(tasks[i].pid),
                       .note = records(counts[i]),
                       .height = levels ? 14 + static_cast<int>(std::min(levels, 8u)) * kSliceHeight : kDensityHeight,
                       .levels = levels});
    }
    return lanes;
  }

  std::vector<Lane> events() {
    std::vector<Lane> lanes;
    const auto& events = view_.names().events;
    const auto counts = counts_of(view_, record::Axis::Event, events.size());
    for (std::uint32_t i = 0; i < events.size(); ++i)
      lanes.push_back({.kind = Lane::Kind::Event,
                       .id = i,
                       .title = QString::fromStdString(events[i]->name),
                       .note = records(counts[i]),
                       .height = kDensityHeight});
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

  const record::StoreView& view_;
  const LaneWishes& wishes_;
  std::vector<Lane> lanes_;
};

}  // namespace

record::LaneKey Lane::key() const {
  switch (kind) {
    case Kind::Cpu:
      return {record::Axis::Cpu, id};
    case Kind::Task:
      return {record::Axis::Task, id};
    case Kind::Event:
    case Kind::Field:
      return {record::Axis::Event, id};
    case Kind::Group:
    case Kind::Pinned:
      break;
  }
  return {};
}

QString Lane::name(const record::StoreNames& names) const {
  switch (kind) {
    case Kind::Cpu:
      return QStringLiteral("cpu:%1").arg(id);
    case Kind::Task:
      return QStringLiteral("task:%1").arg(names.tasks[id].pid);
    case Kind::Event:
      return QStringLiteral("event:") + event_name(*names.events[id]);
    case Kind::Field:
      return QStringLiteral("field:") + event_name(*names.events[id]) + QLatin1Char(':') + field;
    case Kind::Group:
    case Kind::Pinned:
      break;
  }
  return QStringLiteral("group:%1").arg(id);
}

std::vector<Lane> lanesOf(const record::StoreView& view, const LaneWishes& wishes) {
  return Maker(view, wishes).make();
}

}  // namespace kevt::gui
