// SavedTasks: names of threads that have hit, for lines that are printed later. Shown by saved_cmdlines and
// saved_tgids.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kevt::engine {

struct SavedTask {
  std::int32_t tid = 0;
  std::int32_t tgid = 0;  // 0: not recorded
  std::string comm;       // empty: not recorded
};

// Keeps `limit` threads; when full, the thread that was first noted longest ago is dropped.
class SavedTasks {
 public:
  void note_comm(std::int32_t tid, std::string_view comm);
  void note_tgid(std::int32_t tid, std::int32_t tgid);
  const SavedTask* find(std::int32_t tid) const;
  std::vector<SavedTask> all() const;
  std::size_t limit() const { return limit_; }
  void set_limit(std::size_t limit);

 private:
  SavedTask& task(std::int32_t tid);
  std::size_t limit_ = 4096;
  std::list<SavedTask> tasks_;  // by the time each was first noted
  std::unordered_map<std::int32_t, std::list<SavedTask>::iterator> by_tid_;
};

}  // namespace kevt::engine
