// Lanes of the timeline: CPUs, tasks, events, numeric fields, durations, hits of a search; which lanes exist, in which
// order, how high.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "tracefs-compat/record/store/row_subset.h"
#include "tracefs-compat/record/store/store_field.h"
#include "tracefs-compat/record/store/store_query.h"

namespace kevt::gui {

struct Lane {
  // Latency: how long an event's slices took, as a plot; Heat: the same as a heat map, duration over time. Found: hits
  // of a search. Pinned: only as the kind of a group. Sessions store the numbers, so new kinds come last.
  enum class Kind : std::uint8_t { Group, Cpu, Task, Event, Field, Pinned, Latency, Heat, Found };
  Kind kind = Kind::Cpu;
  std::uint32_t id = 0;  // CPU number, or index into the store's tasks or events; of a group: its kind; Found: a number
  QString title;
  QString note;                                   // beside the title, smaller
  QString field;                                  // Field: its name; Found: the searched text
  int height = 22;                                // logical pixels
  std::uint32_t levels = 0;                       // of slices above each other; of an event 1 when it begins any
  std::shared_ptr<const record::RowSubset> only;  // Found: the hits; else what the filter keeps; nullptr: all
  bool is_filtered = false;                       // `only` is the filter's

  // Its records in the store. A lane of plotted durations has all records of its event. Lives as long as `only`.
  record::LaneKey key() const;
  // The lane's name in sessions: "cpu:3", "task:4711", "event:kprobes/open", "field:kprobes/open:fd".
  QString name(const record::StoreNames& names) const;
  bool isSame(const Lane& other) const { return kind == other.kind && id == other.id && field == other.field; }
  // Whether the lane is drawn from the values of a record::FieldPyramid.
  bool isPlot() const { return kind == Kind::Field || kind == Kind::Latency || kind == Kind::Heat; }
};

// What ticks and slices are coloured by. Outcome: whether a call returned a negative value.
enum class ColourBy : std::uint8_t { Event, Task, Cpu, Field, Outcome };
struct Colouring {
  ColourBy by = ColourBy::Event;
  QString field;  // Field only
};
// Records with the same number have the same colour. `end`: the end record of a slice; kNoRow: `row` is a single
// record.
std::uint32_t colourNumber(const record::StoreView& view, const Colouring& colouring, record::Row row, record::Row end);
// Colour numbers of outcomes; they differ modulo 8, the number of colours.
inline constexpr std::uint32_t kSucceeded = 2, kFailed = 1, kNoOutcome = 7;

struct FoundRows {
  std::uint32_t number = 0;  // no two lanes of a window have the same
  QString text;
  std::shared_ptr<const record::RowSubset> rows;
};

struct LanePrefs {
  std::vector<Lane::Kind> collapsed;                // groups that show only their title
  std::vector<std::pair<QString, QString>> fields;  // event and field that are plotted
  std::vector<QString> latencies, heats;            // events whose slices' durations are shown as plot or heat map
  std::vector<FoundRows> found;                     // hits of searches; of one trace only
  Colouring colouring;
  std::vector<QString> hidden;  // names of lanes
  std::vector<QString> order;   // names of lanes in the user's order; others follow
  std::vector<QString> pinned;  // names of lanes that stand above all groups
};

// The lanes in this order: pinned ones, search hits, CPUs, tasks (most records first), events, plotted fields and
// durations. Groups without lanes are left out. With a filter, lanes show and count only kept records; tasks and events
// without kept records are left out unless pinned.
std::vector<Lane> lanesOf(const record::StoreView& view, const LanePrefs& wishes,
                          const std::shared_ptr<const record::RowSubset>& kept = nullptr);
// Which of an event's plotted values count; empty without a filter.
record::FieldPyramid::Only plottedRows(const Lane& lane);

}  // namespace kevt::gui
