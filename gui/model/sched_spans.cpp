// A task's state changes at three events.
//
//   sched_waking pid=7          7: woken, from here until it runs
//   sched_switch next_pid=7     7: runs
//   sched_switch prev_pid=7     7: preempted when prev_state says it could have gone on (0, or the kernel's mark for a
//                               preemption above all task states), else asleep: no span
//
// A task that was on a CPU before the first record has no span until its first event. Mirrors the state that
// sched_switch prints (include/trace/events/sched.h).
#include "gui/model/sched_spans.h"

#include <algorithm>
#include <optional>

namespace kevt::gui {
namespace {

constexpr std::uint64_t kTaskStates = 0xff;  // those that sched_switch reports; the mark of a preemption is above

std::uint64_t number(const record::Field* field, std::span<const std::uint8_t> bytes) {
  return record::value_of(*field, bytes).number;
}

// The fields of one event that matter; nullopt: it is none of them.
struct Rule {
  const record::Field *prev_pid = nullptr, *prev_state = nullptr, *next_pid = nullptr, *woken = nullptr;
};

std::optional<Rule> rule_of(const record::EventFormat& event) {
  if (event.system != "sched") return std::nullopt;
  if (event.name == "sched_switch") {
    const Rule rule{event.find("prev_pid"), event.find("prev_state"), event.find("next_pid"), nullptr};
    return rule.prev_pid && rule.prev_state && rule.next_pid ? std::optional(rule) : std::nullopt;
  }
  if (event.name != "sched_waking" && event.name != "sched_wakeup" && event.name != "sched_wakeup_new")
    return std::nullopt;
  const Rule rule{nullptr, nullptr, nullptr, event.find("pid")};
  return rule.woken ? std::optional(rule) : std::nullopt;
}

struct Open {
  SchedSpan::Kind kind = SchedSpan::Kind::Running;
  std::uint64_t from_ns = 0;
};

class Spans {
 public:
  explicit Spans(std::map<std::int32_t, std::vector<SchedSpan>>& of) : of_(of) {}
  void take(const Rule& rule, std::uint64_t ns, std::span<const std::uint8_t> bytes) {
    if (rule.woken) {
      const auto pid = static_cast<std::int32_t>(number(rule.woken, bytes));
      // Waking and wakeup both come; the first one counts. A running task that is woken goes on running.
      if (pid != 0 && !open_.contains(pid)) open_[pid] = {SchedSpan::Kind::Woken, ns};
      return;
    }
    const auto prev = static_cast<std::int32_t>(number(rule.prev_pid, bytes));
    const auto next = static_cast<std::int32_t>(number(rule.next_pid, bytes));
    close(prev, ns);
    const bool goes_on = (number(rule.prev_state, bytes) & kTaskStates) == 0;
    if (prev != 0 && goes_on) open_[prev] = {SchedSpan::Kind::Preempted, ns};
    close(next, ns);
    if (next != 0) open_[next] = {SchedSpan::Kind::Running, ns};
  }

 private:
  void close(std::int32_t pid, std::uint64_t ns) {
    const auto found = open_.find(pid);
    if (found == open_.end()) return;
    of_[pid].push_back({found->second.from_ns, ns, found->second.kind});
    open_.erase(found);
  }

  std::map<std::int32_t, std::vector<SchedSpan>>& of_;
  std::map<std::int32_t, Open> open_;
};

}  // namespace

SchedSpans::SchedSpans(const record::StoreView& view, const std::atomic<bool>& cancelled) {
  std::vector<std::optional<Rule>> rules;
  for (const auto& event : view.names().events) rules.push_back(rule_of(*event));
  Spans spans(of_);
  for (const auto& chunk : view.chunks()) {
    if (cancelled.load(std::memory_order_relaxed)) {
      of_.clear();
      return;
    }
    for (std::uint32_t row = 0; row < chunk->rows() && chunk->first_row + row < view.rows(); ++row)
      if (const auto& rule = rules[chunk->event[row]]) spans.take(*rule, chunk->time_ns(row), chunk->bytes(row));
  }
}

std::span<const SchedSpan> SchedSpans::between(std::int32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const {
  const auto found = of_.find(pid);
  if (found == of_.end()) return {};
  const auto& all = found->second;
  const auto first = std::ranges::partition_point(all, [&](const SchedSpan& s) { return s.to_ns < from_ns; });
  const auto last = std::ranges::partition_point(all, [&](const SchedSpan& s) { return s.from_ns < to_ns; });
  return {first, std::max(first, last)};
}

bool hasSchedEvents(const record::StoreNames& names) {
  return std::ranges::any_of(names.events,
                             [](const auto& event) { return rule_of(*event) && event->name == "sched_switch"; });
}

}  // namespace kevt::gui
