// DefinitionBatch: definitions that belong together, with filters and triggers of instances. The instances must exist
// already.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/events/draft.h"
#include "runtime-user/engine/events/trigger_files.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

struct DefinitionBatch {
  std::span<const std::string> definitions;
  std::span<const EventFilter> filters;
  std::span<const EventTrigger> triggers;
};

struct BatchAnswer {
  bool is_defined = false;
  std::vector<Problem> problems;
  const TracedTarget* where = nullptr;  // the target in which the problems were found; nullptr: only one was checked
  std::vector<std::vector<std::uint64_t>> serials;  // serials of each definition's probes; a marker has several
};

class BatchDefiner {
 public:
  // All arguments outlive this object.
  BatchDefiner(TracingState& state, EventSwitcher& switcher, TriggerFiles& triggers)
      : state_(state), switcher_(switcher), triggers_(triggers) {}

  // Each definition is checked against the ones before it and in every target; the answer says what is wrong. After a
  // mistake nothing is defined; with TracingOptions::keep_going the correct definitions are, unless a filter or trigger
  // is wrong: its event must not be recorded without it. Nothing is armed before EventSwitcher::switch_on().
  Result<BatchAnswer> define(const DefinitionBatch& batch);

 private:
  struct World;
  struct Checked;
  struct BoundTrigger {
    Instance* instance;
    sema::TriggerStep step;
  };
  struct BoundFilter {
    Instance* instance;
    const TracedEvent* event;
    model::FilterExpr filter;
    std::string text;
  };
  Checked check(const DefinitionBatch& batch, BatchAnswer& answer);
  void keep(Checked checked, BatchAnswer& answer);
  struct Place {
    std::size_t definition, entry;  // which of the definition's
  };
  void keep(Checked& checked, World& world, Place place, BatchAnswer& answer);
  Instance& named(std::string_view instance) const;
  std::vector<BoundFilter> bind_existing(const DefinitionBatch& batch, std::span<const std::size_t> filters,
                                         BatchAnswer& answer) const;
  std::vector<BoundTrigger> check_triggers(const DefinitionBatch& batch, BatchAnswer& answer) const;
  Result<void> check_injections(const DefinitionBatch& batch, const BatchAnswer& answer) const;
  void take_back(const BatchAnswer& answer);

  TracingState& state_;
  EventSwitcher& switcher_;
  TriggerFiles& triggers_;
};

}  // namespace kevt::engine
