// Which lanes a trace has.
//
// Tasks are sorted by their number of records, which the chunks' directories have: a thousand tasks cost as little as
// one.
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

// Whether some record of the event begins a slice. Only the first records of each chunk are looked at.
bool begins_slices(const record::StoreView& view, std::uint32_t event) {
  constexpr std::size_t kLooks = 64;
  for (const auto& chunk : view.chunks()) {
    const auto lane = chunk->lane(record::Axis::Event, event);
    for (const std::uint16_t local : lane.first(std::min(lane.size(), kLooks)))
      if (const record::Row row = chunk->first_row + local; view.match(row) != record::kNoRow && view.match(row) > row)
        return true;
  }
  return false;
}

std::vector<std::uint64_t> counts_of(const record::StoreView& view, record::Axis axis, std::size_t lanes,
                                     const KeptRows* kept) {
  std::vector<std::uint64_t> counts(lanes);
  if (kept) {
    for (std::size_t i = 0; i < lanes; ++i) counts[i] = kept->of({axis, static_cast<std::uint32_t>(i)}).size();
    return counts;
  }
  for (const auto& chunk : view.chunks())
    for (const auto& group : chunk->groups[static_cast<std::size_t>(axis)])
      if (group.id < lanes) counts[group.id] += group.end - group.begin;
  return counts;
}

QString records(std::uint64_t count) { return compactNumber(static_cast<double>(count)); }

QString event_name(const record::EventFormat& event) { return QString::fromStdString(event.system + "/" + event.name); }

class Maker {
 public:
  Maker(const record::StoreView& view, const LanePrefs& wishes, const std::shared_ptr<const KeptRows>& kept)
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
    if (!kept_ || lane.rows) return;
    lane.kept = kept_;
    lane.rows = std::shared_ptr<const RowList>(kept_, &kept_->of(lane.key()));
  }

  bool isEmptied(const Lane& lane) const {
    const bool is_of_some = lane.kind == Lane::Kind::Task || lane.kind == Lane::Kind::Event;
    return kept_ && is_of_some && lane.rows->size() == 0;
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
    const auto counts = counts_of(view_, record::Axis::Cpu, cpus.empty() ? 0 : cpus.back() + 1, kept_.get());
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
    const auto counts = counts_of(view_, record::Axis::Task, tasks.size(), kept_.get());
    std::vector<std::uint32_t> order(tasks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return counts[i]; });
    std::vector<std::uint32_t> levels_of(tasks.size());
    for (const auto& chunk : view_.chunks())
      for (const auto& group : chunk->slice_groups)
        if (group.task < levels_of.size()) levels_of[group.task] = std::max(levels_of[group.task], group.deepest + 1u);
    const int below = hasSchedEvents(view_.names()) ? kSchedHeight : 0;
    for (const std::uint32_t i : order) {
      const std::uint32_t levels = levels_of[i];
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
    const auto counts = counts_of(view_, record::Axis::Event, events.size(), kept_.get());
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool has_slices = begins_slices(view_, i);
      lanes.push_back({.kind = Lane::Kind::Event,
                       .id = i,
                       .title = QString::fromStdString(events[i]->name),
                       .note = records(counts[i]),
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
                       .rows = one.rows});
    return lanes;
  }

  const record::StoreView& view_;
  const LanePrefs& wishes_;
  const std::shared_ptr<const KeptRows>& kept_;
  std::vector<Lane> lanes_;
};

// Positions of a list's rows that lie in [from_ns, to_ns).
std::pair<std::size_t, std::size_t> between(const record::StoreView& view, const RowList& rows, std::uint64_t from_ns,
                                            std::uint64_t to_ns) {
  const std::size_t first = rows.lower_bound(view.lower_bound(from_ns));
  return {first, std::max(first, rows.lower_bound(view.lower_bound(to_ns)))};
}

}  // namespace

record::LaneKey Lane::key() const {
  switch (kind) {
    case Kind::Cpu:
      return {record::Axis::Cpu, id};
    case Kind::Task:
      return {record::Axis::Task, id};
    case Kind::Event:
    case Kind::Field:
    case Kind::Latency:
    case Kind::Heat:
      return {record::Axis::Event, id};
    case Kind::Group:
    case Kind::Pinned:
    case Kind::Found:
      break;
  }
  return {};
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

std::optional<record::Row> nearestInLane(const record::StoreView& view, const Lane& lane, std::uint64_t ns,
                                         std::uint64_t within_ns) {
  if (!lane.rows) return record::nearest_in_lane(view, lane.key(), ns, within_ns);
  std::optional<record::Row> best;
  std::uint64_t best_ns = within_ns;
  const std::size_t behind = lane.rows->lower_bound(view.lower_bound(ns));
  const auto consider = [&](record::Row row) {
    if (row >= view.rows()) return;
    const std::uint64_t time = view.time_ns(row);
    const std::uint64_t away = time > ns ? time - ns : ns - time;
    if (away > best_ns || (best && away == best_ns)) return;
    best = row;
    best_ns = away;
  };
  if (behind < lane.rows->size()) consider((*lane.rows)[behind]);
  if (behind > 0) consider((*lane.rows)[behind - 1]);
  return best;
}

std::optional<record::Row> stepInLane(const record::StoreView& view, const Lane& lane, record::Row from,
                                      int direction) {
  if (!lane.rows)
    return direction > 0 ? record::next_in_lane(view, lane.key(), from)
                         : record::previous_in_lane(view, lane.key(), from);
  const RowList& rows = *lane.rows;
  const std::size_t at = rows.lower_bound(direction > 0 ? from + 1 : from);
  if (direction > 0) return at >= rows.size() || rows[at] >= view.rows() ? std::nullopt : std::optional(rows[at]);
  return at == 0 ? std::nullopt : std::optional(rows[at - 1]);
}

std::uint64_t countInLane(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns) {
  if (!lane.rows) return record::count_lane(view, lane.key(), from_ns, to_ns);
  const auto [first, last] = between(view, *lane.rows, from_ns, to_ns);
  return last - first;
}

void visitInLane(const record::StoreView& view, const Lane& lane, std::uint64_t from_ns, std::uint64_t to_ns,
                 const std::function<bool(record::Row, std::uint64_t)>& visit) {
  if (!lane.rows) return record::visit_lane(view, lane.key(), from_ns, to_ns, visit);
  const auto [first, last] = between(view, *lane.rows, from_ns, to_ns);
  for (std::size_t i = first; i < last; ++i)
    if (const record::Row row = (*lane.rows)[i]; !visit(row, view.time_ns(row))) return;
}

void countByPixel(const record::StoreView& view, const Lane& lane, const record::PixelRow& row,
                  std::span<std::uint32_t> counts) {
  if (!lane.rows) return record::count_by_pixel(view, lane.key(), row, counts);
  std::size_t at = lane.rows->lower_bound(view.lower_bound(row.border(0)));
  for (std::uint32_t pixel = 0; pixel < row.pixels && at < lane.rows->size(); ++pixel) {
    const std::size_t next = std::max(at, lane.rows->lower_bound(view.lower_bound(row.border(pixel + 1.0))));
    counts[pixel] += static_cast<std::uint32_t>(next - at);
    at = next;
  }
}

std::vector<Lane> lanesOf(const record::StoreView& view, const LanePrefs& wishes,
                          const std::shared_ptr<const KeptRows>& kept) {
  return Maker(view, wishes, kept).make();
}

Lane everything(const std::shared_ptr<const KeptRows>& kept) {
  Lane lane{.kind = Lane::Kind::Group};
  lane.kept = kept;
  if (kept) lane.rows = std::shared_ptr<const RowList>(kept, &kept->all());
  return lane;
}

record::FieldPyramid::Only plottedRows(const Lane& lane) {
  if (!lane.kept) return {};
  return [kept = lane.kept](record::Row row, record::Row end) {
    return end == record::kNoRow ? kept->all().contains(row) : kept->keepsSlice(row, end);
  };
}

}  // namespace kevt::gui
