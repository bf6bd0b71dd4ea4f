// The triggers of one instance: for each event those that are set, in the order its `trigger` file lists them.
//
// Sema reads the table (is there one already, which variables exist) and returns changes; the engine owns the real one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/model/trigger.h"

namespace kevt::sema {

struct AddTrigger {
  model::EventName event;
  model::Trigger trigger;
};
struct RemoveTrigger {
  model::EventName event;
  std::uint64_t id = 0;
};
struct SetHistState {
  model::EventName event;
  std::uint64_t id = 0;
  model::HistState state = model::HistState::Active;
};
struct ClearHist {  // removes the counts; the trigger stays
  model::EventName event;
  std::uint64_t id = 0;
};
using TriggerStep = std::variant<AddTrigger, RemoveTrigger, SetHistState, ClearHist>;

class TriggerTable {
 public:
  void apply(const TriggerStep& step);

  std::span<const model::Trigger> of(const model::EventName& event) const;
  const std::map<model::EventName, std::vector<model::Trigger>>& events() const { return events_; }
  // A new id: no trigger and no histogram of this table has or had it.
  std::uint64_t take_id() { return next_id_++; }
  // The first trigger that has this `name=`; others of that name share its histogram. nullptr: there is none.
  const model::Trigger* find_named(std::string_view name) const;
  // The event of a trigger; nullptr: the trigger is not set.
  const model::EventName* event_of(std::uint64_t id) const;
  // Whether any trigger counts into this histogram.
  bool is_counted_by_any(std::uint64_t histogram) const;
  // Whether any other histogram refers to this one's variables.
  bool is_referred_to(const model::Histogram& histogram) const;

 private:
  void take(const AddTrigger& step);
  void take(const RemoveTrigger& step);
  void take(const SetHistState& step);
  void take(const ClearHist& step);
  model::Trigger* find(const model::EventName& event, std::uint64_t id);

  std::map<model::EventName, std::vector<model::Trigger>> events_;
  std::uint64_t next_id_ = 1;
};

}  // namespace kevt::sema
