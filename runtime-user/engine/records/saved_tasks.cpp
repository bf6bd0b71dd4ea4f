// The kernel keeps 128 by default; the limit is higher here, so that programs with many threads keep all names.
#include "runtime-user/engine/records/saved_tasks.h"

namespace kevt::engine {

SavedTask& SavedTasks::task(std::int32_t tid) {
  if (const auto it = by_tid_.find(tid); it != by_tid_.end()) return *it->second;
  while (tasks_.size() >= limit_) {
    by_tid_.erase(tasks_.front().tid);
    tasks_.pop_front();
  }
  tasks_.push_back({.tid = tid, .tgid = 0, .comm = ""});
  by_tid_[tid] = std::prev(tasks_.end());
  return tasks_.back();
}

void SavedTasks::note_comm(std::int32_t tid, std::string_view comm) {
  SavedTask& one = task(tid);
  if (one.comm != comm) one.comm = comm;
}

void SavedTasks::note_tgid(std::int32_t tid, std::int32_t tgid) { task(tid).tgid = tgid; }

const SavedTask* SavedTasks::find(std::int32_t tid) const {
  const auto it = by_tid_.find(tid);
  return it == by_tid_.end() ? nullptr : &*it->second;
}

std::vector<SavedTask> SavedTasks::all() const { return {tasks_.begin(), tasks_.end()}; }

void SavedTasks::set_limit(std::size_t limit) {
  limit_ = limit;
  while (tasks_.size() > limit_) {
    by_tid_.erase(tasks_.front().tid);
    tasks_.pop_front();
  }
}

}  // namespace kevt::engine
