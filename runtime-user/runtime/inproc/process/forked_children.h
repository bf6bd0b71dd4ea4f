// Forked children: processes that carry copies of a session's patches and maps, though nobody attached to them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "runtime-user/runtime/inproc/memory/shared_file.h"

namespace kevt::inproc {

// Whether a process has `session` mapped, the file that all processes of a session write.
bool shares_session(pid_t pid, const SharedFile& session);
// Whether a process is between vfork and exec.
bool runs_in_its_parents_memory(pid_t pid);
// Every process but this one that has `session` mapped, except those between vfork and exec. Only processes that began
// at `not_before` (proc::start_time) or later are looked at: reading the maps of old, large ones takes longest.
std::vector<pid_t> processes_sharing(const SharedFile& session, std::uint64_t not_before);

// Whether such a process is there besides `target`; a child of `target` whose maps cannot be read counts as one.
bool has_children_sharing(const SharedFile& session, std::uint64_t not_before, pid_t target);

// The other processes that may run code of a session.
class CodeSharers {
 public:
  // Looks at processes that began at `not_before` (proc::start_time) or later; `target` itself does not count.
  static CodeSharers look(const SharedFile& session, std::uint64_t not_before, pid_t target);
  // Whether one of these processes can run code that was placed at `since`. A child cannot run code that was placed
  // after its fork, since its text is a copy; but a breakpoint in that copy leads to the newest code of its site. A
  // child that was forked after the code was disarmed counts, too: an older child, with the patch in its text, may have
  // forked it.
  bool may_run(std::uint64_t since, bool has_been_a_breakpoint) const {
    return is_in_its_memory_ || (youngest_ && (has_been_a_breakpoint || since <= *youngest_));
  }

 private:
  std::optional<std::uint64_t> youngest_;  // when it began
  bool is_in_its_memory_ = false;          // one runs in the target's own memory, between vfork and exec
};

// Which sessions other processes share, found in one look over all of them.
class SharedSessions {
 public:
  static SharedSessions look();
  // Whether a process has `session` mapped, or one that began at `not_before` or later might: its maps could not be
  // read.
  bool may_be_shared(const SharedFile& session, std::uint64_t not_before) const {
    return inodes_.contains(session.inode()) || youngest_unread_ >= not_before;
  }

 private:
  std::set<std::uint64_t> inodes_;
  std::uint64_t youngest_unread_ = 0;  // proc::start_time; 0: all were read
};

}  // namespace kevt::inproc
