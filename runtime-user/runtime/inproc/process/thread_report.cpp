#include "runtime-user/runtime/inproc/process/thread_report.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>

namespace kevt::inproc {

namespace {

// As wait(2) has it.
int status_of(const siginfo_t& info) {
  constexpr int kStopped = 0x7f, kCore = 0x80;
  switch (info.si_code) {
    case CLD_EXITED:
      return info.si_status << 8;
    case CLD_KILLED:
      return info.si_status;
    case CLD_DUMPED:
      return info.si_status | kCore;
    default:
      return info.si_status << 8 | kStopped;
  }
}

std::optional<ThreadReport> ask(pid_t tid, int kinds) {
  siginfo_t info = {};
  int failed = 0;
  do failed = waitid(P_PID, static_cast<id_t>(tid), &info, kinds | WNOHANG | __WALL);
  while (failed < 0 && errno == EINTR);
  if (failed < 0) return ThreadReport{};
  if (info.si_pid == 0) return std::nullopt;
  return ThreadReport{status_of(info)};
}

}  // namespace

std::optional<ThreadReport> report_of(pid_t tid, int kinds) {
  const auto seen = ask(tid, kinds | WNOWAIT);
  return !seen || (!seen->ended() && seen->is_for_signal()) ? seen : ask(tid, kinds);
}

void go_on(pid_t tid, const ThreadReport& stop) {
  if (stop.event() == PTRACE_EVENT_STOP && stop.signal() != SIGTRAP)
    ptrace(PTRACE_LISTEN, tid, 0, 0);  // the whole process was stopped
  else
    ptrace(PTRACE_CONT, tid, 0, stop.signal_to_deliver());
}

void detach(pid_t tid, const ThreadReport& stop) { ptrace(PTRACE_DETACH, tid, 0, stop.signal_to_deliver()); }

}  // namespace kevt::inproc
