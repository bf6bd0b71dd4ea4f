// Lanes of the timeline: CPUs, tasks, events, numeric fields; which there are, in which order, how high.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "tracefs-compat/record/store_query.h"

namespace kevt::gui {

struct Lane {
  enum class Kind : std::uint8_t { Group, Cpu, Task, Event, Field, Pinned };  // Pinned: of a group only
  Kind kind = Kind::Cpu;
  std::uint32_t id = 0;  // CPU number, or index into the store's tasks or events; of a group: its kind
  QString title;
  QString note;              // beside it, smaller
  QString field;             // Field only
  int height = 22;           // logical pixels
  std::uint32_t levels = 0;  // of slices above each other

  record::LaneKey key() const;
  // Names it in sessions: "cpu:3", "task:4711", "event:kprobes/open", "field:kprobes/open:fd".
  QString name(const record::StoreNames& names) const;
  bool isSame(const Lane& other) const { return kind == other.kind && id == other.id && field == other.field; }
};

struct LaneWishes {
  std::vector<Lane::Kind> collapsed;                // groups that show only their head
  std::vector<std::pair<QString, QString>> fields;  // event and field that are plotted
  std::vector<QString> hidden;                      // names of lanes
  std::vector<QString> order;                       // names of lanes as somebody has put them; others follow
  std::vector<QString> pinned;                      // names of lanes that stand above all groups
};

// In their order: pinned ones, CPUs, tasks by how much they did, events, plotted fields. Groups without lanes are left
// out.
std::vector<Lane> lanesOf(const record::StoreView& view, const LaneWishes& wishes);

}  // namespace kevt::gui
