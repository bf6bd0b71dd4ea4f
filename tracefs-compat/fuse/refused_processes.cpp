#include "tracefs-compat/fuse/refused_processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace kevt::fuse {

void RefusedProcesses::add(pid_t process) {
  const std::lock_guard lock(mutex_);
  processes_.push_back(process);
}

void RefusedProcesses::remove(pid_t process) {
  const std::lock_guard lock(mutex_);
  if (const auto it = std::ranges::find(processes_, process); it != processes_.end()) processes_.erase(it);
}

bool RefusedProcesses::has_thread(pid_t tid) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(processes_, [tid](pid_t process) {
    return process == tid || access(fmt::format("/proc/{}/task/{}", process, tid).c_str(), F_OK) == 0;
  });
}

}  // namespace kevt::fuse
