// TriggerFiles: what is written to the files `trigger` of events, and what they read.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/error.h"
#include "compiler/sema/trigger.h"
#include "runtime-user/engine/code/event_switcher.h"
#include "runtime-user/engine/histograms/hist_snapshot.h"
#include "runtime-user/engine/records/record_router.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class TriggerFiles {
 public:
  // All of them outlive it.
  TriggerFiles(TracingState& state, HitAggregation& aggregation, EventSwitcher& switcher, RecordRouter& records)
      : state_(state), aggregation_(aggregation), switcher_(switcher), records_(records) {}

  // One line. Mistakes, and what is remarked of a trigger that is set, are in the instance's error_log.
  Result<void> write(Instance& instance, const TracedEvent& event, std::string_view text);
  // All of the event's are taken away.
  Result<void> truncate(Instance& instance, const TracedEvent& event);
  // What the file reads: each with what is left of its count.
  std::string text(const Instance& instance, const TracedEvent& event) const;
  // What the file `hist` reads, of all that was hit up to the last drain(), or counted at the hit up to now.
  std::string hist_text(const Instance& instance, const TracedEvent& event);
  // What these events' histograms have counted, of one moment; all of them begin anew then. No hit is in two such
  // readings, or in none.
  struct HistReading {
    std::vector<std::string> texts;       // of each event, as hist_text(); empty where it has no histogram
    std::vector<HistSnapshot> snapshots;  // of each histogram, the same as values
  };
  enum class HistForms : std::uint8_t { Texts, Snapshots, Both };
  HistReading take_histograms(Instance& instance, std::span<const TracedEvent* const> events, HistForms forms);

  // Of a trigger that is right: EOPNOTSUPP where nobody here carries it out.
  Result<void> can_run(const model::Trigger& trigger, const TracedEvent& event) const;
  // A step may be about another event than the one whose file was written: `onmatch` needs a histogram there.
  Result<void> apply(Instance& instance, const sema::TriggerStep& step);

 private:
  Result<void> add(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  Result<void> remove(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  static void start_histograms_over(Instance& instance, std::span<const TracedEvent* const> events);
  std::vector<const target::TargetEnv*> envs() const;
  std::string collected_text(const Instance& instance, const TracedEvent& event) const;
  // What the trigger counts into; by the event's layout.
  void add_histogram(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  static void use_clock(Instance& instance, const model::Trigger& trigger);
  void take_back(Instance& instance, std::span<const sema::TriggerStep> steps);
  const TracedEvent& owner_of(const sema::AddTrigger& step, const TracedEvent& written) const;
  static void remove_histogram(Instance& instance, const model::Trigger& trigger);

  TracingState& state_;
  HitAggregation& aggregation_;
  EventSwitcher& switcher_;
  RecordRouter& records_;
};

}  // namespace kevt::engine
