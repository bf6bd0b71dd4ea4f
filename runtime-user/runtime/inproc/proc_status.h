// A line of /proc/PID/status or /proc/PID/task/TID/status (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace kevt::inproc {

// What stands behind "NAME:", without the blanks before it; empty where there is no such line or process. A thread's of
// whichever process: `tid` alone names it.
std::string status_of(pid_t tid, const std::string& name);

// The same as a number: decimal, or a set of signals (bit signo - 1); 0 where there is none.
std::uint64_t status_number(pid_t tid, const std::string& name);
std::uint64_t status_signals(pid_t tid, const std::string& name);

// Our pid as the agent in process `pid` may ask for it; KEVT_NOT_SEEN where its PID namespace is not ours.
std::uint64_t own_pid_as_seen_by(pid_t pid);

}  // namespace kevt::inproc
