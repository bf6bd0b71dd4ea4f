// HitAggregation: which histograms hits count by themselves, without a record (docs/adr/0030), and what they have
// counted.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/model/compiled_event.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class HitAggregation {
 public:
  // `state` outlives it.
  explicit HitAggregation(TracingState& state) : state_(state) {}

  // What hits of the event count as everything stands; empty: they are recorded, and the reader counts.
  std::vector<model::HitHistogram> of(const TracedEvent& event) const;
  // What tells them from others: code with the same text is kept.
  static std::string key_of(std::span<const model::HitHistogram> histograms);
  // Code of this event counts, so that there may be something to collect.
  void note_counted(const TracedEvent& event) { counted_.insert(event.id); }
  // Code that counts for histograms that have gone is given up.
  void retire(const TracedEvent& event);
  // Brings what hits have counted up to now into the histograms of the instances.
  void collect();

 private:
  const Instance* only_instance_of(const TracedEvent& event) const;
  bool is_switched_by_triggers(const TracedEvent& event) const;

  TracingState& state_;
  std::set<std::uint32_t> counted_;  // ids of events
};

}  // namespace kevt::engine
