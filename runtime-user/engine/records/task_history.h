// TaskHistory: the threads that have hit: their names, and which program each was when.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime-user/engine/records/saved_tasks.h"
#include "runtime-user/engine/tracing_state.h"

namespace kevt::engine {

class TaskHistory {
 public:
  // `state` outlives it.
  explicit TaskHistory(const TracingState& state) : state_(state) {}

  // A record of this thread has come from `target`. Names are kept as the top instance's options say.
  void note(const TracedTarget& target, const runtime::Record& record, std::int32_t tid);
  void note_comm(std::int32_t tid, std::string_view comm) { saved_.note_comm(tid, comm); }
  SavedTasks& saved() { return saved_; }
  const SavedTasks& saved() const { return saved_; }

  // Where a record of this thread comes from. A thread may have become another program: `time_ns`, of CLOCK_MONOTONIC,
  // tells which one it was then; nullopt: the last one. nullptr: nobody knows.
  const TracedTarget* target_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;
  // Likewise, for symbols.
  const target::TargetEnv* env_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;

  // Addresses in the target's records have no names from now on.
  void forget(const TracedTarget& target);
  // Grows with each forget(): what was kept of a TargetEnv may be another's now.
  std::uint64_t forgotten_targets() const { return forgotten_; }

 private:
  struct Was {
    std::uint64_t since_ns;
    const TracedTarget* target;
  };

  const TracingState& state_;
  SavedTasks saved_;
  std::unordered_map<std::int32_t, std::vector<Was>> was_;  // by thread; only with several targets
  std::uint64_t forgotten_ = 0;
};

}  // namespace kevt::engine
