// RefusedProcesses: processes that may not use a mount, because they may be stopped while the mount's thread works on
// them.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <vector>

namespace kevt::fuse {

// All functions may be called from any thread.
class RefusedProcesses {
 public:
  // A process may be added several times, and is refused until it was removed as often: exec keeps the pid.
  void add(pid_t process);
  void remove(pid_t process);
  bool has_thread(pid_t tid) const;

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> processes_;
};

}  // namespace kevt::fuse
