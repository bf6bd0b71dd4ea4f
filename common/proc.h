// What /proc tells of processes and threads (proc(5)). Reading it never fails: what cannot be read is empty or 0, since
// whoever is asked about may have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace kevt::proc {

// A thread's name: 15 bytes at most, of a kernel thread 63.
std::string comm(pid_t tid);

// What stands behind "NAME:" in the status of a process or of any thread, without the blanks before it.
std::string status(pid_t tid, const std::string& name);
// The same as a number: decimal, or a set of signals (bit signo - 1).
std::uint64_t status_number(pid_t tid, const std::string& name);
std::uint64_t status_signals(pid_t tid, const std::string& name);

// When a process began, in clock ticks since boot: together with its pid this identifies a process. 0: it has ended,
// even if it has not been waited for yet.
std::uint64_t start_time(pid_t pid);
// Whether the process has run no program since it was forked: it is a copy of its parent (PF_FORKNOEXEC).
bool is_copy_of_parent(pid_t pid);
// The time now, in the same clock ticks.
std::uint64_t clock_ticks();
// The inode of its PID namespace; 0: unknown.
std::uint64_t pid_namespace(pid_t pid);
pid_t process_of(pid_t tid);
pid_t parent_of(pid_t pid);
// Whether this process and `pid` see the same numbers.
bool shares_pid_namespace(pid_t pid);
// What tells this start of the machine from all others: 5d1f0f0e-2c7b-4f0a-9d7e-3b1f7c1d9a42 (random(4)).
std::string boot_id();

}  // namespace kevt::proc
