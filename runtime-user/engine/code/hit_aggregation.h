// HitAggregation: which histograms hits count by themselves, without a record (docs/adr/0030), and collecting those
// counts.
#pragma once

#include <cstdint>
#include <optional>
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

  // The histograms that hits of the event can count by themselves in the present state; empty: hits are recorded, and
  // the reader counts.
  std::vector<model::HitHistogram> of(const TracedEvent& event) const { return active_of(event).value_or(kNone); }
  // Whether hits of the event are neither recorded nor counted at present: all its histograms are paused.
  bool is_paused(const TracedEvent& event) const;
  // Identifies the histograms: for the same text the same code is used again.
  static std::string key_of(std::span<const model::HitHistogram> histograms);
  // Notes that code of this event counts by itself, so that collect() looks at the event.
  void note_counted(const TracedEvent& event) { counted_.insert(event.id); }
  // Gives up code of the event that counts only for histograms that were removed.
  void retire(const TracedEvent& event);
  // Adds what hits have counted since the last call to the histograms of the instances.
  void collect();
  // Called before the counts of a histogram are set to 0: a table's least and greatest numbers are of all hits, so from
  // now on the reader has to count. True: the events that count into it need other code; when they have it and all
  // that was counted before is collected, note_given_up() is called.
  bool give_up(const model::Histogram& histogram);
  // From now on only hits that were under way are found in tables of the histogram. Those whose least or greatest
  // number the tables do not tell are dropped.
  void note_given_up(const model::Histogram& histogram) { late_.insert(histogram.id); }

 private:
  inline static const std::vector<model::HitHistogram> kNone;
  // The active ones of the event's histograms; nullopt: the reader must count.
  std::optional<std::vector<model::HitHistogram>> active_of(const TracedEvent& event) const;
  const Instance* only_instance_of(const TracedEvent& event) const;
  bool is_switched_by_triggers(const TracedEvent& event) const;

  TracingState& state_;
  std::set<std::uint32_t> counted_;          // ids of events
  std::set<std::uint64_t> given_up_, late_;  // ids of histograms
};

}  // namespace kevt::engine
