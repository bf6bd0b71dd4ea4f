// The tree of events. A new state with the same events only changes values, so selection and expansion stay.
#include "gui/model/event_tree.h"

#include <QMimeData>

#include <algorithm>
#include <cmath>

#include "gui/model/apply_plan.h"
#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {
namespace {
constexpr std::size_t kRatesKept = 120;  // two a second: a minute
constexpr quintptr kSystemId = ~quintptr{0};
}  // namespace

EventTree::EventTree(QObject* parent) : QAbstractItemModel(parent) {}

// Systems with dynamic events come first, since a kernel has a hundred others.
LiveState EventTree::arranged(const LiveState& state) {
  std::set<QString> made;
  for (const LiveEvent& event : state.events)
    if (!event.definition.isEmpty()) made.insert(event.system);
  LiveState out = state;
  std::ranges::stable_sort(out.events, {}, [&](const LiveEvent& event) { return !made.contains(event.system); });
  return out;
}

bool EventTree::hasSameNames(const LiveState& state) const {
  return std::ranges::equal(events_, state.events, [](const LiveEvent& a, const LiveEvent& b) {
    return a.system == b.system && a.name == b.name;
  });
}

void EventTree::noteRates(const LiveState& state) {
  const double seconds = since_last_.isValid() ? std::max<qint64>(1, since_last_.elapsed()) / 1000.0 : 0;
  since_last_.start();
  for (const LiveEvent& event : state.events) {
    if (!event.has_profile) continue;
    const QString name = event.system + QLatin1Char('/') + event.name;
    const auto last = last_hits_.find(name);
    if (last != last_hits_.end() && seconds > 0) {
      auto& rates = rates_[name];
      rates.push_back(event.hits >= last->second ? static_cast<double>(event.hits - last->second) / seconds : 0);
      if (rates.size() > kRatesKept) rates.erase(rates.begin());
    }
    last_hits_[name] = event.hits;
  }
}

void EventTree::take(const LiveState& state) {
  noteRates(state);
  is_live_ = true;
  show(arranged(state));
}

void EventTree::takeRecording(const record::StoreView& view, const record::Metadata& metadata) {
  rates_.clear();
  last_hits_.clear();
  is_live_ = false;
  LiveState state;
  std::vector<std::uint64_t> counts(view.names().events.size());
  for (std::uint32_t i = 0; i < counts.size(); ++i) counts[i] = view.totals().of(record::Axis::Event, i);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const record::EventFormat& format = *view.names().events[i];
    LiveEvent event{.system = QString::fromStdString(format.system), .name = QString::fromStdString(format.name)};
    event.has_profile = true;
    event.hits = counts[i];
    const std::string name = format.system + "/" + format.name;
    for (const record::EventTotals& totals : metadata.totals) {
      if (totals.event != name) continue;
      event.hits = totals.attempts;
      event.missed = totals.missed;
    }
    if (const double ns = static_cast<double>(view.last_ns() - view.first_ns()); ns > 0)
      rates_[QString::fromStdString(name)] = {static_cast<double>(counts[i]) * 1e9 / ns};
    for (const std::string& filter : metadata.filters)
      if (filter.starts_with(name + ": ")) event.filter = QString::fromStdString(filter.substr(name.size() + 2));
    for (const std::string& line : metadata.definitions)
      if (nameOfListing(QString::fromStdString(line)) == QString::fromStdString(name))
        event.definition = QString::fromStdString(line);
    state.events.push_back(std::move(event));
  }
  std::ranges::sort(state.events, {}, [](const LiveEvent& e) { return std::pair(e.system, e.name); });
  show(arranged(state));
  takeLast(view);
}

// Walks back from the newest chunk until each event was seen.
void EventTree::takeLast(const record::StoreView& view) {
  last_ns_.clear();
  std::vector<bool> seen(view.names().events.size());
  std::size_t missing = seen.size();
  for (auto chunk = view.chunks().rbegin(); chunk != view.chunks().rend() && missing; ++chunk) {
    constexpr auto kAxis = static_cast<std::size_t>(record::Axis::Event);
    for (const auto& group : (*chunk)->groups[kAxis]) {
      if (group.id >= seen.size() || seen[group.id] || group.begin == group.end) continue;
      seen[group.id] = true;
      --missing;
      const record::EventFormat& format = *view.names().events[group.id];
      last_ns_[QString::fromStdString(format.system + "/" + format.name)] =
          (*chunk)->time_ns((*chunk)->order[kAxis][group.end - 1]);
    }
  }
  for (std::size_t s = 0; s < systems_.size(); ++s) {
    const QModelIndex parent = index(static_cast<int>(s), 0);
    Q_EMIT dataChanged(index(0, Last, parent), index(static_cast<int>(systems_[s].count) - 1, Last, parent));
  }
}

void EventTree::setOwned(const std::set<QString>& owned) { owned_ = owned; }

QString EventTree::sourceOf(const LiveEvent& event) const {
  if (event.definition.isEmpty()) return is_live_ ? tr("built in") : QString();
  const QChar kind = event.definition[0];
  const QString what = kind == u'r'   ? tr("return probe")
                       : kind == u's' ? tr("synthetic")
                       : kind == u'e' ? tr("event probe")
                                      : tr("probe");
  if (!is_live_) return what;
  return owned_.contains(event.system + QLatin1Char('/') + event.name) ? tr("%1, this window").arg(what)
                                                                       : tr("%1, another tool").arg(what);
}

QStringList EventTree::names() const {
  QStringList dynamic, others;
  for (const LiveEvent& event : events_)
    (event.definition.isEmpty() ? others : dynamic).append(event.system + QLatin1Char(':') + event.name);
  return dynamic + others;
}

std::span<const LiveEvent> EventTree::eventsOf(const QString& system) const {
  for (const System& one : systems_)
    if (one.name == system) return std::span(events_).subspan(one.first, one.count);
  return {};
}

void EventTree::show(const LiveState& state) {
  if (hasSameNames(state)) {
    events_ = state.events;
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      const QModelIndex parent = index(static_cast<int>(s), 0);
      Q_EMIT dataChanged(parent, parent.siblingAtColumn(Columns - 1));
      Q_EMIT dataChanged(index(0, 0, parent), index(static_cast<int>(systems_[s].count) - 1, Columns - 1, parent));
    }
    return;
  }
  beginResetModel();
  events_ = state.events;
  systems_.clear();
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (systems_.empty() || systems_.back().name != events_[i].system) systems_.push_back({events_[i].system, i, 0});
    ++systems_.back().count;
  }
  endResetModel();
}

void EventTree::clear() {
  rates_.clear();
  last_hits_.clear();
  since_last_.invalidate();
  last_ns_.clear();
  show({});
}

QModelIndex EventTree::index(int row, int column, const QModelIndex& parent) const {
  if (row < 0 || column < 0 || column >= Columns || row >= rowCount(parent)) return {};
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) : kSystemId);
}

QModelIndex EventTree::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == kSystemId) return {};
  return createIndex(static_cast<int>(child.internalId()), 0, kSystemId);
}

int EventTree::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(systems_.size());
  if (parent.internalId() != kSystemId || parent.column() != 0) return 0;
  return static_cast<int>(systems_[static_cast<std::size_t>(parent.row())].count);
}

int EventTree::columnCount(const QModelIndex&) const { return Columns; }

const LiveEvent* EventTree::eventAt(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == kSystemId) return nullptr;
  return &events_[systems_[index.internalId()].first + static_cast<std::size_t>(index.row())];
}

QModelIndex EventTree::find(const QString& system, const QString& name) const {
  for (std::size_t s = 0; s < systems_.size(); ++s) {
    if (systems_[s].name != system) continue;
    for (std::size_t i = 0; i < systems_[s].count; ++i)
      if (events_[systems_[s].first + i].name == name)
        return index(static_cast<int>(i), 0, index(static_cast<int>(s), 0));
  }
  return {};
}

std::uint64_t EventTree::missed() const {
  std::uint64_t sum = 0;
  for (const LiveEvent& event : events_) sum += event.missed;
  return sum;
}

QVariant EventTree::systemData(const System& system, int column, int role) const {
  const auto begin = events_.begin() + static_cast<std::ptrdiff_t>(system.first);
  const auto on = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(system.count),
                                [](const LiveEvent& e) { return e.is_enabled; });
  if (role == Qt::CheckStateRole && column == Name && is_live_)
    return on == 0                                           ? Qt::Unchecked
           : on == static_cast<std::ptrdiff_t>(system.count) ? Qt::Checked
                                                             : Qt::PartiallyChecked;
  if (role != Qt::DisplayRole) return {};
  if (column == Name) return system.name;
  std::uint64_t hits = 0, missed = 0;
  bool has_profile = false;
  for (std::size_t i = 0; i < system.count; ++i) {
    const LiveEvent& event = events_[system.first + i];
    hits += event.hits;
    missed += event.missed;
    has_profile |= event.has_profile;
  }
  if (column == Hits && has_profile) return grouped(hits);
  if (column == Missed && has_profile) return grouped(missed);
  return {};
}

QVariant EventTree::eventData(std::size_t at, int column, int role) const {
  const LiveEvent& event = events_[at];
  const auto rates = rates_.find(event.system + QLatin1Char('/') + event.name);
  if (role == Qt::CheckStateRole && column == Name && is_live_) return event.is_enabled ? Qt::Checked : Qt::Unchecked;
  if (role == RatesRole && column == Rate && rates != rates_.end())
    return QVariant::fromValue(QList<double>(rates->second.begin(), rates->second.end()));
  if (role == Qt::TextAlignmentRole && (column == Hits || column == Missed || column == Last))
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole && column == Missed && event.missed)
    return tr("%1 hits were not recorded: no return instance was free, or the handler was entered again. Write r16: "
              "for more instances.")
        .arg(grouped(event.missed));
  if (role == Qt::ToolTipRole && column == Source && !event.definition.isEmpty()) return plainTip(event.definition);
  if (role == Qt::ToolTipRole) return plainTip(eventData(at, column, Qt::DisplayRole).toString());
  if (role != Qt::DisplayRole) return {};
  switch (column) {
    case Name:
      return event.name;
    case Hits:
      return event.has_profile ? grouped(event.hits) : QVariant();
    case Missed:
      return event.has_profile ? grouped(event.missed) : QVariant();
    case Rate:
      return rates != rates_.end() && !rates->second.empty()
                 ? compactNumber(std::round(rates->second.back())) + QStringLiteral("/s")
                 : QVariant();
    case Last: {
      const auto last = last_ns_.find(event.system + QLatin1Char('/') + event.name);
      return last == last_ns_.end() ? QVariant() : absoluteTime(last->second).chopped(3);
    }
    case Source:
      return sourceOf(event);
    case Filter:
      return event.filter;
    case Trigger:
      return event.trigger;
  }
  return {};
}

QVariant EventTree::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (index.internalId() == kSystemId)
    return systemData(systems_[static_cast<std::size_t>(index.row())], index.column(), role);
  return eventData(systems_[index.internalId()].first + static_cast<std::size_t>(index.row()), index.column(), role);
}

bool EventTree::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !index.isValid() || index.column() != Name) return false;
  const bool on = value.toInt() != Qt::Unchecked;
  if (const LiveEvent* event = eventAt(index))
    Q_EMIT enableWanted(event->system, event->name, on);
  else
    Q_EMIT enableWanted(systems_[static_cast<std::size_t>(index.row())].name, {}, on);
  return false;  // the next state shows the result
}

Qt::ItemFlags EventTree::flags(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | (eventAt(index) ? Qt::ItemIsDragEnabled : Qt::NoItemFlags) |
         (index.column() == Name && is_live_ ? Qt::ItemIsUserCheckable : Qt::NoItemFlags);
}

QMimeData* EventTree::mimeData(const QModelIndexList& indexes) const {
  QByteArray names;
  for (const QModelIndex& index : indexes)
    if (const LiveEvent* event = index.column() == Name ? eventAt(index) : nullptr)
      names += (event->system + QLatin1Char('/') + event->name + QLatin1Char('\n')).toUtf8();
  auto* data = new QMimeData;  // the drag owns it
  data->setData(QString::fromLatin1(kMimeType), names);
  return data;
}

QVariant EventTree::headerData(int section, Qt::Orientation orientation, int role) const {
  static const char* const kNames[] = {"Event", "Hits", "Missed", "Rate", "Last", "Filter", "Trigger", "Source"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= Columns) return {};
  return tr(kNames[section]);
}

}  // namespace kevt::gui
