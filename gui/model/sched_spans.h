// SchedSpans: what the scheduler did with each task, from sched events of a recording: on a CPU, woken and waiting for
// one, taken off while it could have gone on.
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
  // Of a thread, in the order of time, none over another one; those that touch [from_ns, to_ns).
  std::span<const SchedSpan> between(std::int32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const;
  bool empty() const { return of_.empty(); }

 private:
  std::map<std::int32_t, std::vector<SchedSpan>> of_;
};

// Has the trace events that spans are made from?
bool hasSchedEvents(const record::StoreNames& names);

}  // namespace kevt::gui
