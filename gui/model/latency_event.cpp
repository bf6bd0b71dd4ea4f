// The files of a latency, e.g. from `opening` to `opened` by thread:
//
//   synthetic_events                  took u64 us; int common_pid
//   events/kprobes/opening/trigger    hist:keys=common_pid:took_t0=common_timestamp.usecs
//   events/kprobes/opened/trigger
//   hist:keys=common_pid:us=common_timestamp.usecs-$took_t0:onmatch(kprobes.opening).trace(took,$us,common_pid)
//   events/synthetic/took/…           enable, and a histogram of it
#include "gui/model/latency_event.h"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>

#include "compiler/layout/synthetic_layout.h"

namespace kevt::gui {

namespace {

// A name of a field or an event; a parameter of `trace()` has two letters at least.
bool isName(const QString& text) {
  static const QRegularExpression kName(QStringLiteral("^[A-Za-z_][A-Za-z0-9_]+$"));
  return kName.match(text).hasMatch();
}

bool isKey(const record::Field& field) {
  return field.kind == record::FieldKind::Number && !field.is_float && field.item_bytes > 0;
}

const record::Field* fieldNamed(const LatencySide& side, const QString& name) {
  return side.format ? side.format->find(name.toStdString()) : nullptr;
}

// How a synthetic event's definition declares it; empty: it cannot have such a field. A field of `trace()` has the
// type's own spelling, or is unsigned and of its size (check_synth_field of kernel/trace/trace_events_hist.c,
// Linux 6.1).
QString declared(const record::Field& field) {
  const QString name = QString::fromStdString(field.name);
  if (field.kind == record::FieldKind::DynamicText) return QStringLiteral("char[] ") + name;
  if (!isKey(field)) return {};
  if (layout::is_synthetic_scalar(field.type)) return QString::fromStdString(field.type) + QLatin1Char(' ') + name;
  return field.is_signed ? QString() : QStringLiteral("u%1 %2").arg(field.item_bytes * 8).arg(name);
}

// The key first, then what is kept.
QStringList carried(const LatencyEvent& latency) { return QStringList(latency.end.key) + latency.kept; }

QString definitionOf(const LatencyEvent& latency) {
  QStringList fields = {QStringLiteral("u64 ") + QLatin1String(latency.field())};
  for (const QString& name : carried(latency)) fields.append(declared(*fieldNamed(latency.end, name)));
  return latency.name + QLatin1Char(' ') + fields.join(QStringLiteral("; "));
}

QString beginTrigger(const LatencyEvent& latency) {
  return QStringLiteral("hist:keys=%1:%2_t0=%3")
      .arg(latency.begin.key, latency.name,
           latency.is_in_ns ? QStringLiteral("common_timestamp") : QStringLiteral("common_timestamp.usecs"));
}

QString endTrigger(const LatencyEvent& latency) {
  const record::EventFormat& begin = *latency.begin.format;
  return QStringLiteral("hist:keys=%1:%2=%3-$%4_t0:onmatch(%5.%6).trace(%4,$%2,%7)")
      .arg(latency.end.key, QLatin1String(latency.field()),
           latency.is_in_ns ? QStringLiteral("common_timestamp") : QStringLiteral("common_timestamp.usecs"),
           latency.name, QString::fromStdString(begin.system), QString::fromStdString(begin.name),
           carried(latency).join(QLatin1Char(',')));
}

}  // namespace

QString LatencySide::path() const {
  return QStringLiteral("events/%1/%2")
      .arg(QString::fromStdString(format->system), QString::fromStdString(format->name));
}

const char* LatencyEvent::field() const { return is_in_ns ? "ns" : "us"; }

QStringList keysOf(const record::EventFormat& format) {
  QStringList keys = {QStringLiteral("common_pid")};
  for (const record::Field& field : format.fields)
    if (isKey(field) && isName(QString::fromStdString(field.name))) keys.append(QString::fromStdString(field.name));
  return keys;
}

QStringList keysLike(const record::EventFormat& format, const record::EventFormat& other, const QString& key) {
  const record::Field* wanted = other.find(key.toStdString());
  QStringList keys = keysOf(format);
  keys.removeIf([&](const QString& name) {
    const record::Field* field = format.find(name.toStdString());
    return !wanted || !field || field->size != wanted->size || field->is_signed != wanted->is_signed;
  });
  return keys;
}

QString latencyName(const record::EventFormat& begin, const record::EventFormat& end) {
  return QString::fromStdString(begin.name) + QStringLiteral("_to_") + QString::fromStdString(end.name);
}

QString mistakeOf(const LatencyEvent& latency) {
  constexpr int kMostFields = 64;  // SYNTH_FIELDS_MAX of Linux 6.1
  const LatencySide &begin = latency.begin, &end = latency.end;
  if (!begin.format || !end.format) return QObject::tr("Choose two events.");
  if (begin.path() == end.path()) return QObject::tr("The time is taken from one event to another one.");
  if (!isName(latency.name)) return QObject::tr("A name has two letters or more: letters, digits and _.");
  if (!keysLike(*end.format, *begin.format, begin.key).contains(end.key))
    return QObject::tr("Hits are paired by keys of the same size and sign.");
  const QStringList fields = carried(latency);
  if (fields.size() >= kMostFields) return QObject::tr("A synthetic event has %1 fields at most.").arg(kMostFields);
  std::set<QString> seen = {QString::fromLatin1(latency.field())};
  for (const QString& name : fields) {
    const record::Field* field = fieldNamed(end, name);
    const QString event = QString::fromStdString(end.format->name);
    if (!field) return QObject::tr("%1 has no field %2.").arg(event, name);
    if (!isName(name)) return QObject::tr("A field of one letter cannot be kept: %1.").arg(name);
    if (declared(*field).isEmpty())
      return QObject::tr("A synthetic event cannot keep %1, whose type is %2.")
          .arg(name, QString::fromStdString(field->type));
    if (!seen.insert(name).second) return QObject::tr("It would have two fields named %1.").arg(name);
  }
  return {};
}

std::vector<FileWrite> writesOf(const LatencyEvent& latency) {
  const QString made = QStringLiteral("events/synthetic/") + latency.name;
  std::vector<FileWrite> writes = {
      {.path = QStringLiteral("synthetic_events"), .text = definitionOf(latency), .error = {}},
      {.path = latency.begin.path() + QStringLiteral("/trigger"), .text = beginTrigger(latency), .error = {}},
      {.path = latency.end.path() + QStringLiteral("/trigger"), .text = endTrigger(latency), .error = {}}};
  if (!latency.counted_by.isEmpty())
    writes.push_back({.path = made + QStringLiteral("/trigger"),
                      .text = QStringLiteral("hist:keys=") + latency.counted_by,
                      .error = {}});
  if (latency.is_recorded)
    writes.push_back(
        {.path = made + QStringLiteral("/enable"), .text = QStringLiteral("1"), .adds = false, .error = {}});
  return writes;
}

std::vector<FileWrite> writesBack(const LatencyEvent& latency, std::size_t count) {
  std::vector<FileWrite> back;
  for (const FileWrite& one : writesOf(latency) | std::views::take(count) | std::views::reverse)
    back.push_back(one.adds ? FileWrite{.path = one.path, .text = QLatin1Char('!') + one.text, .error = {}}
                            : FileWrite{.path = one.path, .text = QStringLiteral("0"), .adds = false, .error = {}});
  return back;
}

}  // namespace kevt::gui
