// Children may have children, and may have been adopted by init when their parent ended; what they all
// share is the session's memfd, whose inode stands in their maps:
//
//   7f12… rw-s 00000000 00:01 2051   /memfd:kevtrace (deleted)
//
// A process that is between vfork and exec runs in its parent's memory: it is left out, the parent is not. So is one
// that can write the session's tables: a copy of this process (session/keeper.h), which never runs a hit.
//
//   7f15… rw-s 00000000 00:01 2050   /memfd:kevtrace-tables (deleted)
#include "runtime-user/runtime/inproc/process/forked_children.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>

#include "common/proc.h"
#include "compiler/target/process/process_map.h"

namespace kevt::inproc {

bool runs_in_its_parents_memory(pid_t pid) {
  const pid_t parent = proc::parent_of(pid);
  return parent > 0 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

namespace {

bool is_of_session(const target::Mapping& mapping) {
  return mapping.shared && mapping.path.starts_with("/memfd:kevtrace");
}

// Calls `visit` for every process but this one.
void for_each_process(const std::function<void(pid_t)>& visit) {
  DIR* all = opendir("/proc");
  if (!all) return;
  while (const dirent* entry = readdir(all)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && pid != getpid()) visit(pid);
  }
  closedir(all);
}

bool is_controller(const std::vector<target::Mapping>& maps) {
  return std::ranges::any_of(maps, [](const target::Mapping& mapping) {
    return mapping.shared && mapping.writable && mapping.path == "/memfd:kevtrace-tables";
  });
}

bool maps_session(const std::vector<target::Mapping>& maps, const SharedFile& session) {
  return !is_controller(maps) && std::ranges::any_of(maps, [&](const target::Mapping& mapping) {
    return is_of_session(mapping) && mapping.inode == session.inode();
  });
}

std::ptrdiff_t thread_count(pid_t pid) {
  std::error_code ignored;
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", ignored);
  return std::distance(begin(tasks), end(tasks));
}

}  // namespace

bool shares_session(pid_t pid, const SharedFile& session) {
  auto maps = target::read_maps(pid);
  return maps && maps_session(*maps, session);
}

std::vector<pid_t> processes_sharing(const SharedFile& session, std::uint64_t not_before) {
  std::vector<pid_t> found;
  for_each_process([&](pid_t pid) {
    if (proc::start_time(pid) < not_before) return;
    if (shares_session(pid, session) && !runs_in_its_parents_memory(pid)) found.push_back(pid);
  });
  return found;
}

bool has_children_sharing(const SharedFile& session, std::uint64_t not_before, pid_t target) {
  bool found = false;
  for_each_process([&](pid_t pid) {
    if (found || pid == target) return;
    const std::uint64_t began = proc::start_time(pid);
    if (!began && thread_count(pid) > 1) found = true;  // as below: nothing tells its age
    if (began < not_before || runs_in_its_parents_memory(pid)) return;
    const auto maps = target::read_maps(pid);
    found = maps ? maps_session(*maps, session) : proc::parent_of(pid) == target;
  });
  return found;
}

// A process whose maps cannot be read may be one.
CodeSharers CodeSharers::look(const SharedFile& session, std::uint64_t not_before, pid_t target) {
  CodeSharers found;
  for_each_process([&](pid_t pid) {
    if (pid == target) return;
    const std::uint64_t began = proc::start_time(pid);
    if (!began) {  // a thread may go on where the first one has ended, and then nothing tells its age
      if (thread_count(pid) > 1) found.youngest_ = UINT64_MAX;
      return;
    }
    if (began < not_before) return;
    const auto maps = target::read_maps(pid);
    if (maps && !maps_session(*maps, session)) return;
    found.youngest_ = std::max(found.youngest_.value_or(0), began);
    if (!maps ? proc::parent_of(pid) == target : runs_in_its_parents_memory(pid)) found.is_in_its_memory_ = true;
  });
  return found;
}

SharedSessions SharedSessions::look() {
  SharedSessions found;
  for_each_process([&](pid_t pid) {
    if (const auto maps = target::read_maps(pid)) {
      if (is_controller(*maps)) return;
      for (const target::Mapping& mapping : *maps)
        if (is_of_session(mapping)) found.inodes_.insert(mapping.inode);
    } else {
      found.youngest_unread_ = std::max(found.youngest_unread_, proc::start_time(pid));  // 0: it has ended
    }
  });
  return found;
}

}  // namespace kevt::inproc
