// LatencyEvent: the time from a hit of one event to the next hit of another one with the same key, as an event of its
// own: a synthetic event, and the two `hist` triggers that make it (Linux Documentation/trace/histogram.rst, 2.2).
#pragma once

#include <QString>
#include <QStringList>
#include <memory>
#include <vector>

#include "gui/model/tracing_service.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::gui {

// One of the two events, and the field whose value pairs its hits with those of the other.
struct LatencySide {
  std::shared_ptr<const record::EventFormat> format;  // nullptr: not known yet
  QString key;
  QString path() const;  // events/SYSTEM/NAME
};

struct LatencyEvent {
  LatencySide begin, end;
  QString name;               // of the synthetic event
  bool is_in_ns = false;      // else microseconds
  QStringList kept;           // other fields of the end's event that the synthetic event has
  bool is_recorded = true;    // its hits are records
  QString counted_by;         // keys of a histogram of its hits; empty: none
  const char* field() const;  // that holds the time: "us" or "ns"
};

// The fields that hits can be paired by: integers of the event and what every event has of its thread.
QStringList keysOf(const record::EventFormat& format);
// Those of `format` that can be paired with `key` of `other`: same size, same sign.
QStringList keysLike(const record::EventFormat& format, const record::EventFormat& other, const QString& key);
// "opening" and "opened": "opening_to_opened".
QString latencyName(const record::EventFormat& begin, const record::EventFormat& end);

// Why it cannot be made; empty: it can, as far as formats tell.
QString mistakeOf(const LatencyEvent& latency);
// What makes it, in order; and what takes the first `count` of these back.
std::vector<FileWrite> writesOf(const LatencyEvent& latency);
std::vector<FileWrite> writesBack(const LatencyEvent& latency, std::size_t count);

}  // namespace kevt::gui
