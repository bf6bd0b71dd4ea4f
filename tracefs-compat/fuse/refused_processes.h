// RefusedProcesses: who may not use a mount, because it may stand still while the mount works on it.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <vector>

namespace kevt::fuse {

// From any thread.
class RefusedProcesses {
 public:
  // A process may be there more than once, and is refused until it was removed as often: exec keeps its pid.
  void add(pid_t process);
  void remove(pid_t process);
  bool has_thread(pid_t tid) const;

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> processes_;
};

}  // namespace kevt::fuse
