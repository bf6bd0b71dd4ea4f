// Which target a thread belongs to is noted only where there are several targets.
#include "runtime-user/engine/records/task_history.h"

#include <algorithm>
#include <iterator>

#include "common/proc.h"

namespace kevt::engine {

void TaskHistory::note(const TracedTarget& target, const runtime::Record& record, std::int32_t tid) {
  if (state_.has_several_targets()) {
    auto& was = was_[tid];
    if (was.empty() || was.back().target != &target) was.push_back({record.timestamp_ns, &target});
  }
  const TraceOptions& options = state_.instances.top().options;
  if (options.has(TraceOption::RecordCmd)) saved_.note_comm(tid, record.comm);
  if (!options.has(TraceOption::RecordTgid)) return;
  const SavedTask* known = saved_.find(tid);
  if (!known || known->tgid == 0) saved_.note_tgid(tid, proc::process_of(tid));
}

const TracedTarget* TaskHistory::target_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const {
  const auto& targets = state_.code.installed().targets();
  if (!state_.has_several_targets()) return targets.empty() ? nullptr : targets.front();
  const auto it = was_.find(tid);
  if (it == was_.end()) return nullptr;
  const auto& was = it->second;
  if (!time_ns) return was.back().target;
  const auto next = std::ranges::upper_bound(was, *time_ns, {}, &Was::since_ns);
  return next == was.begin() ? nullptr : std::prev(next)->target;
}

const target::TargetEnv* TaskHistory::env_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const {
  if (state_.options.env) return state_.options.env;
  const TracedTarget* target = target_of(tid, time_ns);
  return target ? &target->known_env() : nullptr;
}

void TaskHistory::forget(const TracedTarget& target) {
  for (auto& [tid, was] : was_) std::erase_if(was, [&](const Was& one) { return one.target == &target; });
  std::erase_if(was_, [](const auto& one) { return one.second.empty(); });
  ++forgotten_;
}

}  // namespace kevt::engine
