// Finds when triggers fired.
//
// A snapshot, or a switch of another event, comes with a record of the trigger's own event that passes its filter: each
// such record is a firing, up to the trigger's count. traceoff is different: it acts before its record, which is then
// not stored. If tracing goes off while such a trigger is set, that is the firing, at the time of the last record.
// Records from before the trigger was seen are no firings.
#include "gui/model/trigger_watch.h"

#include <algorithm>

#include "gui/model/trace_filter.h"
#include "gui/model/trigger_text.h"

namespace kevt::gui {
namespace {

constexpr std::uint64_t kForEver = ~0ull;

bool comesWithARecord(const QString& kind) {
  return kind == QLatin1String("snapshot") || kind == QLatin1String("enable_event") ||
         kind == QLatin1String("disable_event");
}

// "unlimited", "count=3", "3", or nothing.
std::uint64_t timesOf(QString count) {
  if (count.startsWith(QLatin1String("count="))) count.remove(0, 6);
  bool is_number = false;
  const std::uint64_t times = count.toULongLong(&is_number);
  return is_number ? times : kForEver;
}

QStringList triggersOf(const LiveEvent& event) { return event.trigger.split(QLatin1Char('\n'), Qt::SkipEmptyParts); }

}  // namespace

TriggerWatch::TriggerWatch(QObject* parent) : QObject(parent), jobs_(this, 1) {}

TriggerWatch::~TriggerWatch() {
  if (busy_) *busy_ = true;
}

void TriggerWatch::clear() {
  if (busy_) *busy_ = true;
  busy_.reset();
  watched_.clear();
  has_state_ = false;
  firings_.clear();
  Q_EMIT firingsChanged();
}

void TriggerWatch::take(const LiveState& state, const record::StoreView& view) {
  takeSwitch(state, view);
  learn(state, view);
  was_tracing_ = state.is_tracing;
  has_state_ = true;
  look(view);
}

void TriggerWatch::takeSwitch(const LiveState& state, const record::StoreView& view) {
  if (!has_state_ || state.is_tracing == was_tracing_ || view.empty()) return;
  const QString kind = state.is_tracing ? QStringLiteral("traceon") : QStringLiteral("traceoff");
  for (const LiveEvent& event : state.events)
    for (const QString& trigger : triggersOf(event))
      if (const auto parts = triggerParts(trigger); parts && parts->kind == kind)
        return add({{view.last_ns(), tr("%1 of %2").arg(kind, event.name)}});
}

void TriggerWatch::learn(const LiveState& state, const record::StoreView& view) {
  std::map<QString, Watched> now;
  for (const LiveEvent& event : state.events)
    for (const QString& trigger : triggersOf(event)) {
      const auto parts = triggerParts(trigger);
      if (!parts || !comesWithARecord(parts->kind)) continue;
      const QString name = event.system + QLatin1Char('/') + event.name;
      const QString key = QStringList{name, parts->kind, parts->target, parts->filter}.join(QLatin1Char('\n'));
      const auto known = watched_.find(key);
      now[key] = known != watched_.end()
                     ? known->second
                     : Watched{name, parts->kind, parts->filter, timesOf(parts->count), view.rows()};
    }
  watched_ = std::move(now);
}

void TriggerWatch::look(const record::StoreView& view) {
  if (busy_ || watched_.empty() || firings_.size() >= kMost) return;
  struct Looked {
    std::vector<Firing> firings;
    std::map<QString, Watched> watched;
  };
  busy_ = jobs_.start(
      [view, watched = watched_](const std::atomic<bool>& cancelled) {
        Looked out{{}, watched};
        for (auto& [key, one] : out.watched) {
          FilterMistake ignored;
          const auto filter =
              TraceFilter::compile(one.event + QStringLiteral(": ") + one.filter, view.names(), ignored);
          for (; one.from < view.rows() && one.left > 0 && filter && !cancelled; ++one.from) {
            if (out.firings.size() >= kMost || !filter->keeps(view, one.from)) continue;
            out.firings.push_back({view.time_ns(one.from),
                                   QStringLiteral("%1 of %2").arg(one.kind, one.event.section(QLatin1Char('/'), 1))});
            if (one.left != kForEver) --one.left;
          }
        }
        return out;
      },
      [this](Looked looked) {
        busy_.reset();
        for (auto& [key, one] : looked.watched)
          if (const auto found = watched_.find(key); found != watched_.end()) found->second = one;
        add(std::move(looked.firings));
      });
}

void TriggerWatch::add(std::vector<Firing> fresh) {
  if (fresh.empty()) return;
  for (Firing& one : fresh)
    if (firings_.size() < kMost) firings_.push_back(std::move(one));
  std::ranges::stable_sort(firings_, {}, &Firing::ns);
  Q_EMIT firingsChanged();
}

}  // namespace kevt::gui
