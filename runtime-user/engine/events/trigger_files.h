// TriggerFiles: writes to the files `trigger` of events, and what `trigger` and `hist` read.
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
  // All arguments outlive this object.
  TriggerFiles(TracingState& state, HitAggregation& aggregation, EventSwitcher& switcher, RecordRouter& records)
      : state_(state), aggregation_(aggregation), switcher_(switcher), records_(records) {}

  // Carries out one line. Mistakes, and remarks about a trigger that was set, are in the instance's error_log.
  Result<void> write(Instance& instance, const TracedEvent& event, std::string_view text);
  // Removes all triggers of the event.
  Result<void> truncate(Instance& instance, const TracedEvent& event);
  // What the file `trigger` reads: each trigger, with what is left of its count.
  std::string text(const Instance& instance, const TracedEvent& event) const;
  // What the file `hist` reads. It covers hits up to the last drain(), and up to now where hits count by themselves.
  std::string hist_text(const Instance& instance, const TracedEvent& event);
  // All hits that the event's histograms have now.
  std::uint64_t hist_hits(const Instance& instance, const TracedEvent& event);
  // Reads the histograms of these events at one moment and starts them over. Each hit is in exactly one reading.
  struct HistReading {
    std::vector<std::string> texts;       // by event, as hist_text(); empty for one without histograms
    std::vector<HistSnapshot> snapshots;  // of each histogram, the same as values
  };
  enum class HistForms : std::uint8_t { Texts, Snapshots, Both };
  HistReading take_histograms(Instance& instance, std::span<const TracedEvent* const> events, HistForms forms);

  // Whether a correct trigger can be carried out here; EOPNOTSUPP if not.
  Result<void> can_run(const model::Trigger& trigger, const TracedEvent& event) const;
  // Carries out one step of a checked trigger. A step may be about another event than the one whose file was written:
  // `onmatch` needs a histogram on another event.
  Result<void> apply(Instance& instance, const sema::TriggerStep& step);

 private:
  Result<void> add(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  Result<void> remove(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  // To be called before the histogram's counts are set to 0: HitAggregation::give_up(), and other code for its events.
  Result<void> give_up_at_hits(Instance& instance, const model::Histogram& histogram);
  static void start_histograms_over(Instance& instance, std::span<const TracedEvent* const> events);
  std::vector<const target::TargetEnv*> envs() const;
  std::string collected_text(const Instance& instance, const TracedEvent& event) const;
  // Adds the histogram that the trigger counts into, for records of its event's layout.
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
