// What a traced thread has to report to its tracer (ptrace(2)).
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <optional>

namespace kevt::inproc {

struct ThreadReport {
  std::optional<int> status;  // of wait(2); nullopt: it cannot be waited for, so it has ended

  bool ended() const { return !status || !WIFSTOPPED(*status); }
  // Of a stop:
  int signal() const { return *status >> 8 & 0xff; }
  int event() const { return *status >> 16; }  // PTRACE_EVENT_…
  // Whether it has stopped for a signal that is to be delivered, not for an event or a system call (0x80).
  bool is_for_signal() const { return event() == 0 && signal() < 0x80; }
  int signal_to_deliver() const { return is_for_signal() ? signal() : 0; }
};

// The report of one thread, if it has any; never blocks. `kinds`: WSTOPPED, WEXITED, or both.
//
// The stop for a signal stays unwaited for: the kernel forgets the signal of a stop that was waited for
// (kernel/exit.c, wait_task_stopped, 6.1), so a tracer that is killed before it passes the signal on would take it
// along. A breakpoint without its signal goes on in the middle of an instruction.
std::optional<ThreadReport> report_of(pid_t tid, int kinds);

// Lets a thread that has stopped go on; a signal that it has stopped for is delivered.
void go_on(pid_t tid, const ThreadReport& stop);
// The same, untraced from then on.
void detach(pid_t tid, const ThreadReport& stop);

}  // namespace kevt::inproc
