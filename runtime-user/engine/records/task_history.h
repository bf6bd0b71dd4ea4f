// TaskHistory: the threads that have hit: their names, and which target each thread belonged to at which time.
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
  // `state` outlives this object.
  explicit TaskHistory(const TracingState& state) : state_(state) {}

  // Notes that a record of thread `tid` came from `target`. Saves comm and tgid if the top instance's options
  // record-cmd and record-tgid are on.
  void note(const TracedTarget& target, const runtime::Record& record, std::int32_t tid);
  void note_comm(std::int32_t tid, std::string_view comm) { saved_.note_comm(tid, comm); }
  SavedTasks& saved() { return saved_; }
  const SavedTasks& saved() const { return saved_; }

  // The target that the thread belonged to at `time_ns` of CLOCK_MONOTONIC (exec may have changed it); for nullopt the
  // last one known. nullptr: unknown.
  const TracedTarget* target_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;
  // The environment that names the thread's addresses at that time: TracingOptions::env if set, else that target's.
  const target::TargetEnv* env_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;

  // From now on addresses in the target's records are printed without names.
  void forget(const TracedTarget& target);
  // Addresses of a target may have other names from now on.
  void note_new_names() { ++forgotten_; }
  // Grows with each forget() and note_new_names(). Caches keyed by a TargetEnv's address are stale then: another one
  // may have it.
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
