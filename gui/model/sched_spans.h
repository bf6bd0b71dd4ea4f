// SchedSpans: what the scheduler did with each task, from the sched events of a recording: running on a CPU, woken and
// waiting for a CPU, preempted.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

struct SchedSpan {
  enum class Kind : std::uint8_t { Running, Woken, Preempted };
  std::uint64_t from_ns = 0, to_ns = 0;
  Kind kind = Kind::Running;
};

class SchedSpans {
 public:
  // Reads sched_switch, sched_waking, sched_wakeup and sched_wakeup_new; ends early, and empty, when cancelled.
  SchedSpans(const record::StoreView& view, const std::atomic<bool>& cancelled);
  // The spans of a thread that touch [from_ns, to_ns), in the order of time, without overlaps.
  std::span<const SchedSpan> between(std::int32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const;
  bool empty() const { return of_.empty(); }

 private:
  std::map<std::int32_t, std::vector<SchedSpan>> of_;
};

// Whether the trace has events that spans can be made from.
bool hasSchedEvents(const record::StoreNames& names);

}  // namespace kevt::gui
